package reactortest_test

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/reactortest"
	"github.com/reactord/reactord/sender/task"
)

// anywhere is all addresses of a machine.
var anywhere = netip.MustParseAddrPort("[::]:7")

// pair has a listener on one machine, and a client on another that has connected to it.
func pair(m *reactortest.Machine, server, client func(p *reactortest.Peer, c *reactortest.Conn)) {
	other := m.NewMachine("client")
	m.Peer("server", func(p *reactortest.Peer) {
		c, err := p.Listen(anywhere).AcceptConn()
		if err != nil {
			p.Fatalf("%v", err)
		}
		server(p, c)
	})
	other.Peer("client", func(p *reactortest.Peer) { client(p, p.Dial(m.AddrPort(7))) })
}

// Bytes take the latency of the link, each way.
func TestLatency(t *testing.T) {
	const latency = 50 * time.Millisecond
	reactortest.Run(t, func(m *reactortest.Machine) {
		m.SetFaults(reactortest.Faults{})
		other := m.NewMachine("client")
		m.Link(other).Set(reactortest.LinkConfig{Latency: latency, Jitter: latency / 10})
		m.Loop(reactor.LoopConfig{}, echoAt(anywhere))
		other.Peer("client", func(p *reactortest.Peer) {
			c := p.Dial(m.AddrPort(7))
			if d := p.Now(); d < 2*latency || d > 3*latency {
				p.Errorf("connecting took %v", d)
			}
			began := p.Now()
			_, _ = io.WriteString(c, "hello")
			_, _ = io.ReadFull(c, make([]byte, 5))
			if d := p.Now() - began; d < 2*latency || d > 3*latency {
				p.Errorf("a round trip took %v", d)
			}
			if from, to := c.LocalAddr().String(), c.RemoteAddr().String(); from[:9] != "10.0.0.2:" || to != "10.0.0.1:7" {
				p.Errorf("the connection is from %s to %s", from, to)
			}
		})
	})
}

// A link with a bandwidth carries so many bytes a second, those of all connections together.
func TestBandwidth(t *testing.T) {
	const perSecond, size = 100_000, 50_000
	reactortest.Run(t, func(m *reactortest.Machine) {
		m.SetFaults(reactortest.Faults{})
		other := m.NewMachine("client")
		m.LinkTo(other).Set(reactortest.LinkConfig{Latency: time.Millisecond, Bandwidth: perSecond})
		left := 2
		for _, port := range []uint16{7, 8} {
			m.Peer("server", func(p *reactortest.Peer) {
				c, err := p.Listen(netip.AddrPortFrom(netip.IPv6Unspecified(), port)).AcceptConn()
				if err != nil {
					p.Fatalf("%v", err)
				}
				_, _ = c.Write(make([]byte, size))
				_ = c.CloseWrite()
				_, _ = io.Copy(io.Discard, c)
			})
			other.Peer("client", func(p *reactortest.Peer) {
				c := p.Dial(m.AddrPort(port))
				if n, err := io.Copy(io.Discard, c); n != size || err != nil {
					p.Errorf("%d bytes, %v", n, err)
				}
				if left--; left > 0 {
					return
				}
				const want = 2 * size * time.Second / perSecond
				if d := p.Now(); d < want || d > want+want/5 {
					p.Errorf("%d bytes took %v, want %v or a little more", 2*size, d, want)
				}
			})
		}
	})
}

// On a link that loses much, TCP delivers all bytes in order, later.
func TestLossIsDelay(t *testing.T) {
	waited := time.Duration(0)
	reactortest.Run(t, func(m *reactortest.Machine) {
		other := m.NewMachine("client")
		m.Link(other).Set(reactortest.LinkConfig{Latency: time.Millisecond, Loss: 0.1, Duplicate: 0.1, Reorder: 0.1})
		m.Loop(reactor.LoopConfig{}, echoAt(anywhere))
		other.Peer("client", func(p *reactortest.Peer) {
			c := p.Dial(m.AddrPort(7))
			for i := range 20 {
				said := []byte{byte(i), 1, 2, 3}
				_, _ = c.Write(said)
				got := make([]byte, len(said))
				if _, err := io.ReadFull(c, got); err != nil || !slices.Equal(got, said) {
					p.Fatalf("%v came back, and %v", got, err)
				}
			}
			waited = max(waited, p.Now())
		})
	})
	if waited < time.Second {
		t.Errorf("nothing was lost: the slowest took %v", waited)
	}
}

// A partition stalls a connection, and when it ends in time, nothing is lost.
func TestPartition(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		pair(m, func(p *reactortest.Peer, c *reactortest.Conn) {
			b := make([]byte, 5)
			if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
				p.Errorf("%q, %v came", b, err)
			}
			if d := p.Now(); d < time.Minute || d > 3*time.Minute {
				p.Errorf("it came after %v", d)
			}
		}, func(p *reactortest.Peer, c *reactortest.Conn) {
			p.Machine().Link(m).Cut()
			_, _ = io.WriteString(c, "hello")
			p.Sleep(time.Minute)
			p.Machine().Link(m).Heal()
		})
	})
}

// The sender on a connection that is cut for good fails after 15 minutes. The receiver fails when it sends.
func TestPartitionForGood(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		pair(m, func(p *reactortest.Peer, c *reactortest.Conn) {
			_ = c.SetDeadline(p.Time().Add(time.Hour))
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				p.Errorf("the receiver's read ends with %v", err)
			}
			_ = c.SetDeadline(time.Time{})
			_, _ = io.WriteString(c, "are you there?")
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				p.Errorf("what it then sends is answered by %v", err)
			}
		}, func(p *reactortest.Peer, c *reactortest.Conn) {
			p.Machine().Link(m).Cut()
			began := p.Now()
			_, _ = io.WriteString(c, "hello")
			_, err := c.Read(make([]byte, 1))
			if d := p.Now() - began; !errors.Is(err, syscall.ETIMEDOUT) || d < 15*time.Minute || d > 16*time.Minute {
				p.Errorf("the sender's read ends with %v after %v", err, d)
			}
			p.Machine().Link(m).Heal()
		})
	})
}

// Connecting over a link that is cut takes two minutes, in one direction or both. An address that no machine has is not
// reached.
func TestConnectTimesOut(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		other := m.NewMachine("client")
		if m.Rand().IntN(2) == 0 {
			m.LinkTo(other).Cut()
		} else {
			other.LinkTo(m).Cut()
		}
		m.Loop(reactor.LoopConfig{}, echoAt(anywhere))
		other.Peer("client", func(p *reactortest.Peer) {
			p.Sleep(time.Second)
			began := p.Now()
			_, err := p.TryDial(m.AddrPort(7))
			if d := p.Now() - began; !errors.Is(err, syscall.ETIMEDOUT) || d < 2*time.Minute || d > 3*time.Minute {
				p.Errorf("Dial ends with %v after %v", err, d)
			}
			if _, err := p.TryDial(netip.MustParseAddrPort("10.0.0.77:7")); !errors.Is(err, syscall.EHOSTUNREACH) {
				p.Errorf("Dial to no machine ends with %v", err)
			}
			m.Link(other).Heal()
			if _, err := p.TryDial(m.AddrPort(8)); !errors.Is(err, syscall.ECONNREFUSED) {
				p.Errorf("Dial where nothing listens ends with %v", err)
			}
			_ = p.Dial(netip.AddrPortFrom(m.Addr6(), 7)).Close()
		})
	})
}

// The network resets connections, on both sides.
func TestNetworkResets(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		isReset := func(p *reactortest.Peer, c *reactortest.Conn) {
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				p.Errorf("a read ends with %v", err)
			}
		}
		pair(m, isReset, func(p *reactortest.Peer, c *reactortest.Conn) {
			m.Link(p.Machine()).Reset()
			isReset(p, c)
		})
	})
}

// Datagrams are lost, duplicated and reordered as the link says.
func TestDatagramsOnALink(t *testing.T) {
	const sent = 50
	lost, twice, late := 0, 0, 0
	reactortest.Run(t, func(m *reactortest.Machine) {
		m.SetFaults(reactortest.Faults{})
		other := m.NewMachine("client")
		m.Link(other).Set(reactortest.LinkConfig{Latency: time.Millisecond, Loss: 0.1, Duplicate: 0.1, Reorder: 0.1})
		var got []byte
		m.Peer("receiver", func(p *reactortest.Peer) {
			c := p.ListenPacket(anywhere)
			_ = c.SetReadDeadline(p.Time().Add(time.Hour))
			for {
				b := make([]byte, 10)
				n, from, err := c.ReadFromAddrPort(b)
				if err != nil {
					break
				}
				if n != 1 || from.Addr().Unmap() != other.Addr() {
					p.Errorf("%d bytes came from %v", n, from)
				}
				got = append(got, b[0])
			}
		})
		other.Peer("sender", func(p *reactortest.Peer) {
			c := p.DialPacket(m.AddrPort(7))
			p.Sleep(time.Second)
			for i := range sent {
				_, _ = c.Write([]byte{byte(i)})
				p.Sleep(100 * time.Microsecond)
			}
		})
		m.After(func() {
			seen, last := map[byte]int{}, byte(0)
			for _, i := range got {
				if seen[i]++; seen[i] == 2 {
					twice++
				}
				if i < last && seen[i] == 1 {
					late++
				}
				last = max(last, i)
			}
			lost += sent - len(seen)
		})
	})
	if lost == 0 || twice == 0 || late == 0 {
		t.Errorf("%d were lost, %d came twice, %d came late", lost, twice, late)
	}
}

// A machine resolves the names of machines.
func TestNames(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		other := m.NewMachine("backup")
		f := m.Faults()
		f.NoDescriptor, f.RefusedConnect, f.SilentConnectError = 0, 0, 0
		m.SetFaults(f)
		m.Link(other).Set(reactortest.LinkConfig{Latency: time.Millisecond})
		dialer := reactor.Dialer{Resolver: m}
		ready := false
		other.Peer("server", func(p *reactortest.Peer) {
			l := p.Listen(netip.MustParseAddrPort("0.0.0.0:7")) // not on IPv6
			ready = true
			c, err := l.Accept()
			if err != nil {
				p.Fatalf("%v", err)
			}
			if b, err := io.ReadAll(c); err != nil || string(b) != "hello" {
				p.Errorf("%q, %v", b, err)
			}
		})
		spawn(m, func(t *task.T, l *reactor.Loop) error {
			for !ready {
				if _, err := task.Await(t, l.SleepFor(time.Millisecond)); err != nil {
					return err
				}
			}
			if _, err := task.Await(t, dialer.Dial(l, "tcp", "nowhere:7")); err == nil {
				m.Errorf("a name of no machine is connected to")
			}
			s, err := task.Await(t, dialer.Dial(l, "tcp", "backup:7"))
			if err != nil {
				m.Errorf("Dial: %v", err)
				return nil
			}
			defer closeSocket(t, s)
			_, err = task.Await(t, s.SendAll([]byte("hello")))
			return err
		})
	})
}

// Machines share no descriptors, ports, files and names.
func TestMachinesAreApart(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		other := m.NewMachine("other")
		m.Loop(reactor.LoopConfig{}, echo(time.Hour))
		other.Loop(reactor.LoopConfig{}, echo(time.Hour))
		m.WriteFile("/file", []byte("here"))
		if _, err := other.ReadFile("/file"); !errors.Is(err, syscall.ENOENT) {
			m.Errorf("a file of another machine: %v", err)
		}
		for _, on := range []*reactortest.Machine{m, other} {
			on.Peer("client", func(p *reactortest.Peer) {
				_ = p.Dial(address).Close()
				if _, err := p.TryDial(on.AddrPort(7)); !errors.Is(err, syscall.ECONNREFUSED) {
					p.Errorf("a listener on the loopback interface is reached by %v: %v", on.Addr(), err)
				}
				ln := p.ListenUnix("@name")
				_ = p.DialUnix("@name")
				if _, err := ln.Accept(); err != nil {
					p.Errorf("%v", err)
				}
			})
		}
	})
}
