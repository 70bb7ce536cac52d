package sender_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
)

// Fetch all of urls, eight at a time, each with three attempts and all of it with a deadline. The first that
// fails for good ends the others, and all have ended when it returns.
func fetchAll(ctx context.Context, urls []string) ([]string, error) {
	var g sched.Goroutines
	fetches := make([]sender.Any[string], len(urls))
	for i, url := range urls {
		get := sender.Call(func(ctx context.Context) (string, error) { return fetch(ctx, url) })
		fetches[i] = sender.Erase(sender.RetryAfter(get, func(failed int, err error) (sender.ScheduleAtSender, bool) {
			return sender.ScheduleAfter(g, time.Millisecond<<failed), failed < 3
		}))
	}
	all := sender.WhenAllSlice(fetches, 8)
	return sender.SyncWait(ctx, sender.Timeout(all, sender.ScheduleAfter(g, 5*time.Second)))
}

func Example_fetchAll() {
	fmt.Println(fetchAll(context.Background(), []string{"one", "two", "three"}))
	_, err := fetchAll(context.Background(), []string{"one", "nowhere"})
	fmt.Println(err)
	// Output:
	// [page one page two page three] <nil>
	// no such page: nowhere
}

// Ask a second server when the first has not answered for a while; the first answer ends the other.
func ExampleFirstSuccess() {
	ask := func(server string) sender.CallSender[string] {
		return sender.Call(func(ctx context.Context) (string, error) { return fetch(ctx, server) })
	}
	hedged := sender.FirstSuccess(
		ask("slow"),
		sender.Sequence(sender.ScheduleAfter(sched.Goroutines{}, time.Millisecond), ask("fast")),
	)
	fmt.Println(sender.SyncWait(context.Background(), hedged))
	// Output: page fast <nil>
}

func ExampleCall() {
	wait := sender.Call(func(ctx context.Context) (string, error) { return fetch(ctx, "slow") })
	_, err := sender.SyncWait(context.Background(),
		sender.Timeout(wait, sender.ScheduleAfter(sched.Goroutines{}, time.Millisecond)))
	fmt.Println(err)
	// Output: i/o timeout
}

var busy atomic.Int32

// fetch asks a server that is busy at first.
func fetch(ctx context.Context, url string) (string, error) {
	switch url {
	case "nowhere":
		return "", fmt.Errorf("no such page: %s", url)
	case "slow":
		<-ctx.Done()
		return "", ctx.Err()
	}
	if busy.Add(1) == 1 {
		return "", errors.New("busy")
	}
	return "page " + url, nil
}
