//go:build linux

package server_test

import (
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/server"
)

// Nothing is allocated for a message, in any of the ways to answer.
func TestNoAllocations(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		framing := server.LengthField{Width: 1}
		for name, data := range map[string]func(c *server.Conn, in, out []byte) (int, []byte, error){
			"leased": echo,
			"append": func(_ *server.Conn, in, out []byte) (int, []byte, error) { return len(in), append(out, in...), nil },
			"write": func(c *server.Conn, in, _ []byte) (int, []byte, error) {
				_, _ = c.Write(in)
				return len(in), nil, nil
			},
			"frames": func(c *server.Conn, in, out []byte) (int, []byte, error) {
				return server.Frames(c, in, out, framing, func(_ *server.Conn, f, out []byte) ([]byte, error) {
					return append(out, f...), nil
				})
			},
			"halves": func(_ *server.Conn, in, out []byte) (int, []byte, error) {
				if len(in) < 100 {
					return 0, nil, nil
				}
				return len(in), append(out, in...), nil
			},
		} {
			t.Run(name, func(t *testing.T) {
				cfg := server.Config{IdleTimeout: time.Hour, ReadTimeout: time.Hour, Lifetime: time.Hour}
				r := serve(t, kind, cfg, &hooks{data: data})
				c := r.dial()
				buf := make([]byte, 100)
				buf[0] = 99
				trip := func() {
					_, _ = c.Write(buf[:50])
					_, _ = c.Write(buf[50:])
					if _, err := io.ReadFull(c, buf); err != nil {
						t.Fatal(err)
					}
				}
				for range 100 {
					trip()
				}
				if n := testing.AllocsPerRun(1000, trip); n > 0 {
					t.Errorf("%v allocations for each message", n)
				}
				c.Close()
				r.end()
			})
		}
	})
}

// Connections that come and go leave nothing behind.
func TestChurn(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of connections")
	}
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		var closed sync.WaitGroup
		r := serve(t, kind, server.Config{IdleTimeout: time.Hour}, &hooks{data: echo,
			closed: func(*server.Conn, error) { closed.Done() }})
		heap := func() uint64 {
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		round := func(n int) {
			closed.Add(n)
			conns := make([]net.Conn, n)
			for i := range conns {
				conns[i] = r.connect()
				_, _ = conns[i].Write([]byte("x"))
			}
			for _, c := range conns {
				_, _ = io.ReadFull(c, make([]byte, 1))
			}
			for _, c := range conns { // all together
				c.Close()
			}
			closed.Wait()
		}
		for range 4 { // how much the pools keep depends on what happens together
			round(400)
		}
		before := heap()
		for range 10 {
			round(400)
		}
		if after := heap(); after > before+500<<10 {
			t.Errorf("the heap grew from %d to %d bytes", before, after)
		}
		r.end()
	})
}
