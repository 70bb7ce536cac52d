// Command client sends a line to a server and prints its answer. Each attempt has a deadline, and the pause between two
// of them doubles.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os/signal"
	"syscall"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

const (
	attempts = 5
	limit    = time.Second           // of one attempt: name, connection and answer
	backoff  = 50 * time.Millisecond // before the second attempt
)

// ask makes attempts until one is answered.
func ask(t *task.T, l *reactor.Loop, addr, line string) (answer string, err error) {
	for i := range attempts {
		if i > 0 {
			if _, err := task.Await(t, l.SleepFor(backoff<<(i-1))); err != nil {
				return "", err
			}
		}
		once := task.NewValue(func(t *task.T) (string, error) { return attempt(t, l, addr, line) })
		answer, err = task.Await(t, sender.Timeout(once, l.SleepFor(limit)))
		if err == nil || errors.Is(err, sender.ErrStopped) {
			break
		}
	}
	return answer, err
}

// attempt knows of no deadline: all that it waits for is stopped when its time has passed.
func attempt(t *task.T, l *reactor.Loop, addr, line string) (string, error) {
	s, err := task.Await(t, reactor.Dial(l, "tcp", addr))
	if err != nil {
		return "", err
	}
	c := netconn.New(t, s)
	defer c.Close()
	if _, err := fmt.Fprintln(c, line); err != nil {
		return "", err
	}
	return bufio.NewReader(c).ReadString('\n')
}

func main() {
	addr := flag.String("connect", "localhost:7000", "host and port of the server")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := reactor.Run(ctx, reactor.Config{Loops: 1}, func(l *reactor.Loop) error {
		l.Spawn(task.New(func(t *task.T) error {
			defer l.Stop()
			answer, err := ask(t, l, *addr, "hello")
			fmt.Print(answer)
			return err // which Run returns
		}))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
}
