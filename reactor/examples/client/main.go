// Command client makes many requests to an echo server, such as those in the directory echo. It has a pool of
// connections, a deadline for each attempt, and retries with backoff.
package main

import (
	"flag"
	"log"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/examples/internal/cmdline"
	"github.com/reactord/reactord/sender/task"
)

func main() {
	var o options
	flag.StringVar(&o.addr, "connect", "localhost:7000", "host and port of the server")
	flag.IntVar(&o.requests, "requests", 1000, "number of requests of each loop")
	flag.IntVar(&o.connections, "connections", 10, "number of connections of each loop")
	flag.DurationVar(&o.timeout, "timeout", time.Second, "of an attempt")
	flag.IntVar(&o.attempts, "attempts", 4, "number of attempts of a request")
	flag.DurationVar(&o.backoff, "backoff", 10*time.Millisecond, "before the second attempt; it doubles from then on")
	ctx, cfg := cmdline.ParseLoops()

	err := reactor.Run(ctx, cfg, func(l *reactor.Loop) error {
		l.Spawn(task.New(func(t *task.T) error {
			defer l.Stop()
			p := &pool{loop: l, options: o}
			err := p.run(t)
			log.Printf("answered %d, failed %d, retries %d, connections %d", p.answered, p.failed, p.retries, p.dialed)
			return err
		}))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
}
