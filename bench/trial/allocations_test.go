package trial

import (
	"context"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/reactord/reactord/bench/engine"
	"github.com/reactord/reactord/bench/server"
	"github.com/reactord/reactord/reactor"
)

// Neither the generator nor the echo server on the reactor allocates for a message.
func TestMessagesAllocateNothing(t *testing.T) {
	for _, ring := range []reactor.RingKind{reactor.IOUring, reactor.Epoll} {
		if _, err := reactor.ChooseRing(ring); err != nil {
			t.Log(err)
			continue
		}
		for _, rate := range []float64{0, 2000} {
			ctx, cancel := context.WithCancel(t.Context())
			ready, done := make(chan net.Addr, 1), make(chan error, 1)
			go func() {
				done <- server.Run(ctx, server.Config{Listen: "tcp://127.0.0.1:0", Behaviour: "echo", Style: "receiver", Ring: ring,
					Ready: func(a net.Addr) { ready <- a }})
			}()
			target, err := engine.ParseTarget("tcp://" + (<-ready).String())
			if err != nil {
				t.Fatal(err)
			}
			cfg := echo(target)
			cfg.Ring, cfg.Verify = ring, true
			g, err := engine.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := g.Open(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			phase := engine.Phase{Time: 300 * time.Millisecond, From: rate, To: rate}
			var before, after runtime.MemStats
			messages := int64(0)
			for range 2 { // the first time queues grow
				runtime.ReadMemStats(&before)
				s, err := g.Run(t.Context(), phase, nil)
				runtime.ReadMemStats(&after)
				if err != nil {
					t.Fatal(err)
				}
				messages = s.Windows[0].Messages
			}
			// A phase itself allocates: windows, timers of the runtime, posted functions.
			if n := after.Mallocs - before.Mallocs; messages < 500 || n > 200+uint64(messages)/20 {
				t.Errorf("%s, %v/s: %d allocations for %d messages", ring, rate, n, messages)
			}
			cancel()
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
}
