package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/reactor"
)

// TestUnixServerBulk checks that bulk with a server on a unix socket is spliced, in both directions, with a half-close.
func TestUnixServerBulk(t *testing.T) {
	send := noise(16 << 20)
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listenPath(t)
		p := start(t, ring, Backend{}, ln)
		var c duplex = dialProxy(t, p)
		var s duplex = acceptUnix(t, ln)
		for _, f := range []struct{ from, to duplex }{{c, s}, {s, c}} {
			wrote := make(chan error, 1)
			go func() {
				_, err := f.from.Write(send)
				wrote <- errors.Join(err, f.from.CloseWrite())
			}()
			got, saw := make([]byte, 0, len(send)), false
			for buf := make([]byte, 256<<10); ; {
				n, err := f.to.Read(buf)
				got, saw = append(got, buf[:n]...), saw || spliced(p) != 0
				if err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if err := <-wrote; err != nil || !bytes.Equal(got, send) || !saw {
				t.Errorf("got %d bytes of %d, spliced: %v, %v", len(got), len(send), saw, err)
			}
		}
		awaitSpliced(t, p, 0)
		expectEnd(t, p, reasonNormal)
	})
}

// TestUnixServerBulkReset checks that a client which resets while its bulk is stuck in a splice to a unix socket ends
// the server's connection, and that a server which closes with bytes unread resets the client.
func TestUnixServerBulkReset(t *testing.T) {
	send := noise(32 << 20)
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for _, who := range []string{"client", "server"} {
			ln := listenPath(t)
			p := start(t, ring, Backend{}, ln)
			c := dialProxy(t, p)
			s := acceptUnix(t, ln)
			wrote := make(chan error, 1)
			go func() {
				_, err := c.Write(send)
				wrote <- err
			}()
			buf := make([]byte, 1<<20)
			for read := 0; spliced(p) == 0 && read < len(send)/2; read += len(buf) {
				if _, err := io.ReadFull(s, buf); err != nil {
					t.Fatal(err)
				}
			}
			awaitSpliced(t, p, 1)
			if who == "client" {
				_ = c.SetLinger(0)
				c.Close()
				<-wrote
				if n, err := io.Copy(io.Discard, s); err != nil && !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("the server got %d bytes more, %v", n, err)
				}
			} else {
				s.Close()
				if err := <-wrote; !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
					t.Errorf("the client's side: %v", err)
				}
			}
			awaitSpliced(t, p, 0)
			expectEnd(t, p, map[string]closeReason{"client": reasonClientReset, "server": reasonServerReset}[who])
		}
	})
}

// TestUnixServerThatNeverReads checks that connections to a server that accepts and reads nothing hold no more than
// their buffers, and disturb none of those to the server next to it.
func TestUnixServerThatNeverReads(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		deaf, good := listenPath(t), listenPath(t)
		go echo(good)
		var held []net.Conn // so that they stay open
		go func() {
			for c, err := deaf.Accept(); err == nil; c, err = deaf.Accept() {
				held = append(held, c)
			}
		}()
		f := setupOf(Backend{Buffer: 32 << 10, IdleTimeout: 3 * time.Second, Set: func(b *config.Backend) {
			b.Balance.Policy = config.LeastConnections
		}}, deaf, good)
		f.Ring, f.Loops = ring, 1
		p := f.run(t)
		connections := func(ln net.Listener) int {
			return len(list(t, p, Filter{Address: serveraddr.Unix(ln.Addr().String())}, 0))
		}
		var stuck, served []*net.TCPConn
		for i := range 8 {
			c := dialProxy(t, p)
			waitFor(t, "it has a server", func() bool { return connections(deaf)+connections(good) == i+1 })
			if connections(good) > len(served) {
				served = append(served, c)
				write(t, c, "x")
				expect(t, c, "x")
				continue
			}
			stuck = append(stuck, c)
			go func() { _, _ = c.Write(make([]byte, 16<<20)) }()
		}
		if len(stuck) != 4 {
			t.Fatalf("%d of 8 connections are to the server that never reads", len(stuck))
		}
		for _, c := range served {
			c.Close()
		}
		waitFor(t, "the good server has no connection", func() bool { return connections(good) == 0 })
		for range 5 {
			transferEcho(t, dialProxy(t, p))
		}
		if n, most := leased(p), int64(2*len(stuck))*int64(p.workers[0].loop.Buffers().Size()); n > most {
			t.Errorf("%d bytes are leased, want no more than %d", n, most)
		}
		for _, c := range stuck { // they are idle, and end
			_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
			if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, unix.EAGAIN) {
				t.Errorf("a connection whose server never reads: %v", err)
			}
		}
	})
}

// transferEcho sends bulk to a server that echoes it.
func transferEcho(t *testing.T, c *net.TCPConn) {
	t.Helper()
	send := noise(1 << 20)
	go func() {
		_, _ = c.Write(send)
		_ = c.CloseWrite()
	}()
	if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, send) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// TestPoliciesWithUnixServers checks each policy, with and without a slow start, on a backend with servers of TCP and
// on unix sockets: all servers get connections, or the one of the client's address does. So does a server that comes
// later.
func TestPoliciesWithUnixServers(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for _, policy := range config.Policies {
			for _, slow := range []time.Duration{0, 50 * time.Millisecond} {
				servers := []net.Listener{listen(t), listenPath(t), listenPath(t)}
				for _, ln := range servers {
					go echo(ln)
				}
				f := setupOf(Backend{Set: func(b *config.Backend) { b.Balance.Policy, b.Balance.SlowStart = policy, slow }},
					servers[:2]...)
				f.Ring, f.Loops = ring, 1
				p := f.run(t)
				with := setupOf(f.Backends[0], servers[2])
				f.Backends[0].Servers = append(f.Backends[0].Servers, with.Backends[0].Servers[2])
				p.change(t, f)
				waitFor(t, "no server starts slowly", func() bool {
					return !slices.ContainsFunc(p.Stats().Servers, func(s stats.Server) bool { return s.WeightPercent < 100 })
				})
				for range 120 {
					c := dialProxy(t, p)
					write(t, c, "x")
					expect(t, c, "x")
					c.Close()
				}
				used := 0
				for _, s := range p.Stats().Servers {
					if s.Total != 0 {
						used++
					}
				}
				want := 3
				if policy.Hashes() {
					want = 1
				}
				if used != want {
					t.Errorf("%s, slow start %v: %d servers were used, want %d", policy, slow, used, want)
				}
			}
		}
	})
}
