package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	duration := flag.Duration("t", time.Minute, "how long the load lasts")
	every := flag.Duration("every", 10*time.Second, "the time between two samples")
	out := flag.String("out", "", "the directory of the results; empty: a new one below the temporary directory")
	binary := flag.String("daemon", "", "the binary of the daemon; empty: it is built")
	ring := flag.String("ring", "auto", "the daemon's ring")
	rate := flag.Float64("rate", 1, "how much load, times the usual")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := soak(ctx, *duration, *every, *out, *binary, *ring, *rate); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func soak(ctx context.Context, duration, every time.Duration, out, binary, ring string, rate float64) error {
	if out == "" {
		var err error
		if out, err = os.MkdirTemp("", "soak-"); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	world, err := newServers()
	if err != nil {
		return err
	}
	defer world.close()
	d, err := startDaemon(ctx, out, binary, ring, world)
	if err != nil {
		return err
	}
	defer d.kill()

	begun := time.Now()
	load, end := context.WithTimeout(ctx, duration)
	defer end()
	var work sync.WaitGroup
	work.Go(func() { world.haveFaults(load) })
	work.Go(func() { d.reloadOften(load) })
	clients := &clients{daemon: d, rate: rate}
	work.Go(func() { clients.run(load) })

	file, err := os.Create(filepath.Join(out, "samples.tsv"))
	if err != nil {
		return err
	}
	defer file.Close()
	fmt.Fprintln(file, header)
	var all []sample
	take := func() error {
		s, err := d.sample(time.Since(begun), clients)
		if err != nil {
			return err
		}
		all = append(all, s)
		_, err = fmt.Fprintln(file, s)
		return err
	}
	if err := take(); err != nil {
		return err
	}
	for tick := time.Tick(every); load.Err() == nil; {
		select {
		case <-tick:
			if err := take(); err != nil {
				return fmt.Errorf("after %v: %w", time.Since(begun).Round(time.Second), err)
			}
		case <-load.Done():
		}
	}
	work.Wait()
	time.Sleep(settling)
	if err := take(); err != nil {
		return err
	}
	text, problems := summary(all, clients)
	problems = append(problems, d.stop()...)
	text += "\n" + verdict(problems)
	fmt.Print(text)
	if err := os.WriteFile(filepath.Join(out, "summary.txt"), []byte(text), 0o644); err != nil {
		return err
	}
	fmt.Println("results:", out)
	if len(problems) != 0 {
		return fmt.Errorf("%d problems", len(problems))
	}
	return nil
}

// settling is how long the daemon has after the load until the last sample: UDP sessions and half-closed connections
// end by their timeouts, which are shorter.
const settling = 15 * time.Second

func verdict(problems []string) string {
	if len(problems) == 0 {
		return "nothing grows, and nothing was wrong\n"
	}
	return "PROBLEMS\n- " + strings.Join(problems, "\n- ") + "\n"
}
