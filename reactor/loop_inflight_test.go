//go:build linux

package reactor_test

import (
	"bytes"
	"context"
	"regexp"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// What is in flight is listed with its descriptor and age, from any thread; a blocked loop is told, too.
func TestInFlight(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind, Name: "listed", SlowTurn: -1})
		s, peer := r.pair()
		recv, sleep := new(reactor.RecvOp), new(reactor.SleepOp)
		done := newResult()
		r.do(func() {
			s.Recv(make([]byte, 1)).Connect(recv, sinkOf[int](t, done, nil)).Start()
			r.SleepFor(time.Hour).Connect(sleep, sender.Discard[struct{}]{}).Start()
		})
		var all []reactor.InFlight
		for deadline := time.Now().Add(patience); len(all) == 0 || all[0].Age < 5*time.Millisecond; {
			r.do(func() { all = r.InFlight() })
			if time.Now().After(deadline) {
				t.Fatalf("%v", all)
			}
		}
		byName := map[string]reactor.InFlight{}
		for _, f := range all {
			byName[f.Operation] = f
		}
		if f := byName["Recv"]; len(all) != 2 || f.Fd != s.Fd() || f.State != "in the ring" || f.Age > patience {
			t.Errorf("%+v", all)
		}
		if f := byName["Sleep"]; f.Fd != -1 || f.State != "timer" {
			t.Errorf("%+v", f)
		}

		var text bytes.Buffer
		if err := reactor.WriteInFlight(t.Context(), &text, r.Loop); err != nil {
			t.Error(err)
		}
		want := regexp.MustCompile(`^loop listed: 2 in flight\n( .*\n)* +Recv +fd \d+ +[\d.]+m?s  in the ring\n`)
		if !want.Match(text.Bytes()) {
			t.Errorf("%q", &text)
		}

		blocked, proceed := make(chan bool), make(chan bool)
		w := newWork(func() { close(blocked); <-proceed }, nil)
		r.Enqueue(&w.Work)
		<-blocked
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		text.Reset()
		if err := reactor.WriteInFlight(ctx, &text, r.Loop); err != nil {
			t.Error(err)
		}
		cancel()
		if !regexp.MustCompile(`^loop listed: no answer: .*, in a callback for [\d.]+m?s\n$`).Match(text.Bytes()) {
			t.Errorf("%q", &text)
		}
		close(proceed)
		unix.Close(peer)
		done.expect(t, "0")
		r.close(s)
		r.Stop()
		if err := r.wait(); err != nil {
			t.Error(err)
		}
		text.Reset()
		err := reactor.WriteInFlight(t.Context(), &text, r.Loop)
		if err != nil || !bytes.Contains(text.Bytes(), []byte("ended")) {
			t.Errorf("%q, %v", &text, err)
		}
	})
}
