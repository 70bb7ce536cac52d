package e2e

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Half of the servers come and go, a hundred changes a second. No connection to a server that stays is disturbed, none
// at all fails, and those that stay have equal shares.
func TestServersChangeUnderLoad(t *testing.T) {
	t.Parallel()
	const (
		stay, change = 3, 3
		workers      = 8
		length       = 5 * time.Second
	)
	onEachRing(t, func(t *testing.T, ring string) {
		var served [stay + change]atomic.Int64
		var servers []string
		for i := range served {
			servers = append(servers, serve(t, func(c *net.TCPConn) {
				served[i].Add(1)
				echo(c)
			}))
		}
		socket := filepath.Join(t.TempDir(), "admin.sock")
		settings := "admin: {address: 'unix://" + socket + "'}"
		text := strings.Replace(reloadConfig(ring, settings, []string{"l=127.0.0.1:0"}, servers...), "{name: b,",
			"{name: b, balance: {policy: round_robin},", 1)
		d := startFile(t, writeConfig(t, text))
		d.await("admin")

		var long []peer // to servers that stay and to others
		for range 2 * len(servers) {
			long = append(long, dial(t, d.addr))
		}
		stop, failed := make(chan struct{}), make(chan error, workers+1)
		var next, changes atomic.Int64
		var wg sync.WaitGroup
		until := func(f func() error) {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if err := f(); err != nil {
						failed <- err
						return
					}
				}
			})
		}
		for range workers {
			until(func() error { return exchange(d.addr, int(next.Add(1))) })
		}
		api := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}}
		defer api.CloseIdleConnections()
		pace := time.NewTicker(10 * time.Millisecond)
		defer pace.Stop()
		until(func() error {
			<-pace.C
			i := int(changes.Add(1))
			return setState(&api, servers[stay+i%change], []string{"up", "drain", "maintenance", "drain"}[i/change%4])
		})
		// The daemon is under load for so long, and connections that stay say something at times.
		for start := time.Now(); time.Since(start) < length; time.Sleep(50 * time.Millisecond) {
			for _, p := range long {
				p.send([]byte("still here"))
				p.expect([]byte("still here"))
			}
		}
		close(stop)
		wg.Wait()
		close(failed)
		for err := range failed {
			t.Error(err)
		}
		var sum, counts = int64(0), []int64{}
		for i := range served {
			counts = append(counts, served[i].Load())
		}
		for _, n := range counts[:stay] {
			sum += n
		}
		mean := float64(sum) / stay
		for _, n := range counts[:stay] {
			if math.Abs(float64(n)-mean) > 3*math.Sqrt(mean) {
				t.Errorf("the servers that stay have %v connections: more than 3σ apart", counts[:stay])
				break
			}
		}
		t.Logf("%d changes, %d connections in %v: %v", changes.Load(), next.Load(), length, counts)
		for _, p := range long {
			p.finish()
			p.expectEOF()
		}
		d.stop()
	})
}

// setState sets the state of a server of the backend b.
func setState(api *http.Client, server, state string) error {
	r, err := http.NewRequest(http.MethodPatch, "http://reactord/v1/backends/b/servers/"+server,
		strings.NewReader(`{"state":"`+state+`"}`))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := api.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", server, state, answer.Status)
	}
	return nil
}
