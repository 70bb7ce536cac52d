package proxy

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"golang.org/x/sys/unix"
)

// counted listens, closes every connection, and counts them.
func counted(t *testing.T) (net.Listener, *atomic.Int64) {
	ln, n := listen(t), new(atomic.Int64)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			c.Close()
		}
	}()
	return ln, n
}

// refusing is an address that refuses connections. It is bound, so that no other test listens on it meanwhile.
func refusing(t *testing.T) net.Listener {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		t.Cleanup(func() { _ = unix.Close(fd) })
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	in4 := at.(*unix.SockaddrInet4)
	return refuser{addr: &net.TCPAddr{IP: in4.Addr[:], Port: in4.Port}}
}

type refuser struct {
	net.Listener
	addr net.Addr
}

func (r refuser) Addr() net.Addr { return r.addr }

// startBefore runs a proxy of one loop in front of servers. Those in dead refuse connections. It returns the counts of
// the others.
func startBefore(t *testing.T, ring reactor.RingKind, servers int, dead ...int) (*Proxy, []*atomic.Int64) {
	t.Helper()
	var all []net.Listener
	var counts []*atomic.Int64
	for i := range servers {
		if slices.Contains(dead, i) {
			all = append(all, refusing(t))
			continue
		}
		ln, n := counted(t)
		all, counts = append(all, ln), append(counts, n)
	}
	return startOn(t, newRing(t, ring), reactor.BufferConfig{}, Backend{}, all...), counts
}

// connect makes connections one after the other, until each is closed or reset.
func connect(t *testing.T, p *Proxy, n int) {
	for range n {
		c, err := net.Dial("tcp", p.Addrs()[0].String())
		if err != nil {
			t.Error(err)
			return
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, err = c.Read(make([]byte, 1))
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
			t.Error(err)
		}
		c.Close()
	}
}

// The connections of dead servers are spread evenly over the others, wherever the dead ones are in the list.
func TestFailoverIsFair(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for _, test := range []struct {
			servers int
			dead    []int
		}{{4, []int{1}}, {5, []int{1, 2}}, {7, []int{1, 3, 5}}, {3, []int{0, 2}}} {
			for _, clients := range []int{1, 4} {
				t.Run(fmt.Sprint(test.dead, " of ", test.servers, ", ", clients, " clients"), func(t *testing.T) {
					const each = 24
					p, counts := startBefore(t, ring, test.servers, test.dead...)
					var wg sync.WaitGroup
					for range clients {
						wg.Go(func() { connect(t, p, each*len(counts)/clients) })
					}
					wg.Wait()
					for i, n := range counts {
						if n := n.Load(); (n-each)*(n-each) > int64(clients-1) { // clients at a time can change the order
							t.Errorf("live server %d has served %d, want %d", i, n, each)
						}
					}
				})
			}
		}
	})
}

// A connection tries every server before it gives up, and none of them twice.
func TestEveryServerIsTriedOnce(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		const servers, connections = 8, 20 // as many as a balance.Set remembers
		dead := make([]int, servers)
		for i := range dead {
			dead[i] = i
		}
		p, _ := startBefore(t, ring, servers, dead...)
		var wg sync.WaitGroup
		for range connections {
			wg.Go(func() {
				c, err := net.Dial("tcp", p.Addrs()[0].String())
				if err == nil {
					defer c.Close()
					_ = c.SetDeadline(time.Now().Add(10 * time.Second))
					_, err = c.Read(make([]byte, 1))
				}
				if !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("no server: %v", err)
				}
			})
		}
		wg.Wait()
		for _, s := range p.Stats().Servers {
			if n := s.FailuresByReason[0].Count; n != connections {
				t.Errorf("server %s was tried %d times by %d connections", s.Name, n, connections)
			}
		}
	})
}
