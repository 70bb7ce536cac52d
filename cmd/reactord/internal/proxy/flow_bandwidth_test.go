package proxy

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/reactor"
)

// Bytes come at the rate of the limit, in both directions; and a plan that lifts it lets those go that wait.
func TestBandwidth(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for from, way := range []string{"from the client", "from the server"} {
			t.Run(way, func(t *testing.T) {
				ln := listen(t)
				f := setupOf(Backend{}, ln)
				f.Ring, f.Loops, f.Listeners[0].Address = ring, 1, freePort(t)
				const rate, burst = 2 << 20, 64 << 10
				f.Listeners[0].Bandwidth.Listener = config.ByteRate{FromClient: rate, FromServer: rate, Burst: burst}
				p := f.run(t)
				c, s := pair(t, p, ln)
				ends := []net.Conn{c, s}
				total := 3 << 20
				go func() { _, _ = ends[from].Write(make([]byte, 2*total)) }()
				began := time.Now()
				if _, err := io.ReadFull(ends[1-from], make([]byte, total)); err != nil {
					t.Fatal(err)
				}
				if took, want := time.Since(began), 1400*time.Millisecond; took < want || took > 10*want {
					t.Errorf("%d bytes took %v", total, took)
				}
				f.Listeners[0].Bandwidth.Listener.FromClient, f.Listeners[0].Bandwidth.Listener.FromServer = 1, 1
				p.change(t, f)
				held := func() bool { return p.Stats().Listeners[0].ThrottledSeconds > 1000 }
				waitFor(t, "it is held back for long", held)
				f.Listeners[0].Bandwidth = config.Bandwidth{}
				p.change(t, f)
				if _, err := io.ReadFull(ends[1-from], make([]byte, total)); err != nil {
					t.Error(err)
				}
			})
		}
	})
}
