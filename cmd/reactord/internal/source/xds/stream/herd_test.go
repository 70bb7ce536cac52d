package stream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// herd is how many clients lose their server in the same moment.
const herd = 500

// flock is when clients try, and when they are back, after all of their servers were down for a time. An attempt with
// one that is down takes refused.
func flock(b Backoff, servers int, down, refused time.Duration) (attempts, back []time.Duration) {
	for i := range herd {
		r := rand.New(rand.NewPCG(uint64(i), 0))
		c := turns{Backoff: b, servers: servers, random: r.Float64}
		now := c.ended(true, false)
		for {
			attempts = append(attempts, now)
			if now >= down {
				back = append(back, now-down)
				break
			}
			now += refused + c.ended(false, false)
		}
	}
	return attempts, back
}

// parts is how many times are in each part of a window, and how many after it.
func parts(times []time.Duration, from, part time.Duration, n int) (counts []int, after int) {
	counts = make([]int, n)
	for _, at := range times {
		switch i := int((at - from) / part); {
		case at < from:
		case i < n:
			counts[i]++
		default:
			after++
		}
	}
	return counts, after
}

// A herd is spread over what is configured, in virtual time: over Base if the server is back immediately, and over Max
// after a long time. Clients do not get into step while they wait.
func TestHerdIsSpread(t *testing.T) {
	for _, b := range []Backoff{{time.Second, 2 * time.Minute}, {5 * time.Second, 30 * time.Second}} {
		for _, servers := range []int{1, 3} {
			for _, refused := range []time.Duration{0, 10 * time.Second} {
				t.Run(fmt.Sprint(b, servers, refused), func(t *testing.T) {
					_, back := flock(b, servers, 0, refused)
					counts, late := parts(back, 0, b.Base/10, 10)
					for i, n := range counts { // 50 are expected in each
						if n < 20 || n > 90 || late != 0 {
							t.Fatalf("back immediately: part %d of Base has %d clients: %v, later %d", i, n, counts, late)
						}
					}
					const long = 30 * time.Minute
					attempts, back := flock(b, servers, long, refused)
					counts, late = parts(back, 0, (b.Max+refused)/10, 10)
					// What is left of a wait that is uniform has a density that falls to nothing: the first part has 19 %.
					for i, n := range counts {
						if n > herd/4 || i < 5 && n < herd/50 || late != 0 {
							t.Fatalf("after long: part %d of Max has %d clients: %v, later %d", i, n, counts, late)
						}
					}
					mean := herd * float64(10*time.Second) / float64(b.Max/2+refused)
					seconds, _ := parts(attempts, long/2, 10*time.Second, int(long/2/(10*time.Second)))
					for i, n := range seconds {
						if float64(n) > 1.6*mean || float64(n) < 0.4*mean {
							t.Fatalf("in the 10 s from %v on, %d clients try, %v are expected: %v",
								long/2+time.Duration(i)*10*time.Second, n, mean, seconds)
						}
					}
				})
			}
		}
	}
}

// The same clients over real connections: the server dies and returns; all are back, and none has waited longer than it
// may, nor with the others.
func TestHerdComesBack(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	first := serveOn(t, listener, nil, echo)
	last := first
	c := config(first.at())
	c.Backoff = Backoff{Base: 500 * time.Millisecond, Max: time.Second}
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	defer func() {
		cancel()
		_ = last.Close() // what is connected ends immediately
		clients.Wait()
	}()
	var up, again atomic.Int64
	waits := make(chan time.Duration, herd)
	for range herd {
		clients.Go(func() {
			c, streams, lost := c, 0, false
			c.Report = func(s State) {
				if s.Phase == Waiting && !lost && streams > 0 {
					lost = true
					waits <- s.Wait
				}
				if s.Wait > c.Backoff.Max {
					t.Errorf("a wait of %v", s.Wait)
				}
			}
			Run(ctx, c, func(s *Stream) error {
				if got, err := ask(s, "x"); got != "x" {
					return err
				}
				if streams++; streams == 1 {
					up.Add(1)
				} else {
					again.Add(1)
				}
				_, err := receive(s)
				return err
			})
		})
	}
	await := func(what string, n *atomic.Int64) {
		t.Helper()
		for began := time.Now(); n.Load() < herd; time.Sleep(time.Millisecond) {
			if time.Since(began) > patience {
				t.Fatalf("%d of %d clients are %s", n.Load(), herd, what)
			}
		}
	}
	await("up", &up)
	_ = first.Close()
	var first500 []time.Duration
	for range herd {
		first500 = append(first500, within(t, waits))
	}
	listener, err = net.Listen("tcp", first.at().Address)
	if err != nil {
		t.Fatal(err)
	}
	last = serveOn(t, listener, nil, echo)
	await("back", &again)
	counts, late := parts(first500, 0, c.Backoff.Base/10, 10)
	for i, n := range counts { // 50 are expected in each: 5 standard deviations are 34
		if n < 16 || n > 84 || late != 0 {
			t.Fatalf("part %d of the first wait has %d clients: %v, later %d", i, n, counts, late)
		}
	}
}
