//go:build linux

package server_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/server"
)

func TestEcho(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		closed := make(chan error, 1)
		r := serve(t, kind, server.Config{Reactor: reactor.Config{Loops: 2}}, &hooks{data: echo,
			closed: func(_ *server.Conn, err error) { closed <- err }})
		for _, n := range []int{1, 100, 5000, 100_000, 3_000_000} {
			c := r.dial()
			sent := bytes.Repeat([]byte("0123456789"), n)
			go func() { _, _ = c.Write(sent) }()
			got := make([]byte, len(sent))
			if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%d bytes: %v", len(sent), err)
			}
			c.Close()
			if err := <-closed; err != nil {
				t.Errorf("closed: %v", err)
			}
		}
		r.end()
	})
}

// A second On of a loop is an error, and does not listen again.
func TestOnTwice(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		s, err := server.New(server.Config{Addr: anyPort}, func(*reactor.Loop) server.Handler { return &hooks{} })
		if err != nil {
			t.Fatal(err)
		}
		cfg := reactor.Config{Loops: 1, Loop: reactor.LoopConfig{Ring: kind}}
		err = reactor.Run(t.Context(), cfg, func(l *reactor.Loop) error {
			defer l.Stop()
			if err := s.On(l); err != nil {
				return err
			}
			if err := s.On(l); err == nil || !strings.Contains(err.Error(), "once for each loop") {
				t.Errorf("On again: %v", err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
