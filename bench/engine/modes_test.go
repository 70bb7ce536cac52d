package engine

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/reactor"
)

func TestEcho(t *testing.T) {
	for _, scheme := range []string{"tcp", "unix"} {
		for _, sizes := range []string{"1", "128", "1-3000", "16*9,64k", "exp(500)", "1m"} {
			t.Run(scheme+" "+sizes, func(t *testing.T) {
				rings(t, func(t *testing.T, ring reactor.RingKind) {
					size, err := ParseSizes(sizes)
					if err != nil {
						t.Fatal(err)
					}
					g := load(t, serve(t, scheme, echoing), &Echo{Depth: 5, Size: size}, on(ring))
					s, w := run(t, g, Phase{Time: short / 2})
					faultless(t, w)
					if w.Messages == 0 || w.Sent != w.Messages || w.Latency.Count() != w.Messages {
						t.Errorf("%d messages of %d sent, %d latencies", w.Messages, w.Sent, w.Latency.Count())
					}
					if w.BytesIn != w.BytesOut || w.Verified != w.BytesIn || s.Elapsed < short/2 {
						t.Errorf("%d bytes out, %d in, %d verified, in %v", w.BytesOut, w.BytesIn, w.Verified, s.Elapsed)
					}
				})
			})
		}
	}
}

func TestConnect(t *testing.T) {
	for _, m := range []Connect{{Close: "fin"}, {Close: "rst"}, {Close: "rst", Size: 1000}} {
		rings(t, func(t *testing.T, ring reactor.RingKind) {
			g := load(t, serve(t, "tcp", echoing), &m, on(ring))
			_, w := run(t, g, Phase{Time: short / 2})
			faultless(t, w)
			if w.Messages == 0 || w.Opened != w.Messages || w.BytesIn != w.Messages*int64(m.Size) {
				t.Errorf("%+v: %d messages, %d opened, %d bytes", m, w.Messages, w.Opened, w.BytesIn)
			}
		})
	}
}

// With Stay several connections are open at the same time, and the time is not part of the latency.
func TestConnectionsStay(t *testing.T) {
	rings(t, func(t *testing.T, ring reactor.RingKind) {
		const stay = 5 * short
		g := load(t, serve(t, "tcp", echoing), &Connect{Close: "fin", Size: 100, Stay: stay}, on(ring))
		begin := time.Now()
		_, w := run(t, g, Phase{Time: short})
		faultless(t, w)
		if w.Messages != 4 || w.Opened != 4 || w.Latency.Max() > stay || time.Since(begin) < stay {
			t.Errorf("%d messages over %d connections of at most %v, in %v", w.Messages, w.Opened, w.Latency.Max(),
				time.Since(begin))
		}
	})
}

func TestStream(t *testing.T) {
	t.Run("up", func(t *testing.T) {
		g := load(t, serve(t, "tcp", func(c net.Conn) { io.Copy(io.Discard, c) }), &Stream{}, nil)
		_, w := runUntil(t, g, Phase{Time: short}, func(w *record.Window) bool { return w.BytesOut >= 64<<10 })
		faultless(t, w)
		if w.BytesOut < 64<<10 || w.BytesIn != 0 {
			t.Errorf("%d bytes out, %d in", w.BytesOut, w.BytesIn)
		}
	})
	t.Run("down", func(t *testing.T) {
		p := NewPattern(7, true, 1<<20)
		g := load(t, serve(t, "tcp", func(c net.Conn) {
			for at := int64(0); ; at += 99_999 {
				if _, err := c.Write(p.At(at, 99_999)); err != nil {
					return
				}
			}
		}), &Stream{Direction: "down"}, func(c *Config) { c.Seed = 7 })
		_, w := runUntil(t, g, Phase{Time: short}, func(w *record.Window) bool { return w.Verified >= 64<<10 })
		faultless(t, w)
		if w.Verified < 64<<10 || w.BytesOut != 0 {
			t.Errorf("%d bytes verified, %d out", w.Verified, w.BytesOut)
		}
	})
	t.Run("both", func(t *testing.T) {
		g := load(t, serve(t, "tcp", echoing), &Stream{Direction: "both"}, nil)
		_, w := runUntil(t, g, Phase{Time: short}, func(w *record.Window) bool {
			return min(w.Verified, w.BytesOut) >= 64<<10
		})
		faultless(t, w)
		if w.Verified < 64<<10 || w.BytesOut < 64<<10 {
			t.Errorf("%d bytes verified, %d out", w.Verified, w.BytesOut)
		}
	})
}

func TestHold(t *testing.T) {
	g := load(t, serve(t, "tcp", echoing), &Hold{Every: 10 * time.Millisecond}, func(c *Config) { c.Connections = 50 })
	setup, err := g.Open(t.Context(), nil)
	if err != nil || setup.Windows[0].Opened != 50 || setup.Open != 50 {
		t.Fatalf("%d of 50 connections were opened: %v", setup.Windows[0].Opened, err)
	}
	s, w := runUntil(t, g, Phase{Time: short}, func(w *record.Window) bool { return w.Messages >= 50 })
	faultless(t, w)
	if s.Open != 50 || w.Messages < 50 || w.Opened != 0 {
		t.Errorf("%d stand, %d messages, %d opened", s.Open, w.Messages, w.Opened)
	}
	if n := s.Longest.Count(); n < 1 || n > 50 || s.Longest.Max() > w.Service.Max() {
		t.Errorf("%d connections with an echo of %v at most, of all %v", n, s.Longest.Max(), w.Service.Max())
	}
}

// The longest echo of each connection is of one phase. One connection of ten has a server that waits.
func TestHoldLongest(t *testing.T) {
	const wait = 100 * time.Millisecond
	var accepted atomic.Int64
	g := load(t, serve(t, "tcp", func(c net.Conn) {
		if accepted.Add(1) > 1 {
			echoing(c)
			return
		}
		buf := make([]byte, 64)
		for {
			if _, err := io.ReadFull(c, buf); err != nil {
				return
			}
			time.Sleep(wait)
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	}), &Hold{Every: 10 * time.Millisecond}, func(c *Config) { c.Connections = 10 })
	if _, err := g.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := g.Run(t.Context(), Phase{Time: 3 * wait}, nil)
		if err != nil {
			t.Fatal(err)
		}
		faultless(t, s.Windows[0])
		if n := s.Longest.Count(); n != 10 || s.Longest.Max() < wait {
			t.Errorf("%d connections, the longest echo took %v", n, s.Longest.Max())
		}
	}
}

func TestUDP(t *testing.T) {
	rings(t, func(t *testing.T, ring reactor.RingKind) {
		g := load(t, packets(t, func(p []byte, reply func([]byte)) { reply(p) }), &UDP{Depth: 3}, on(ring))
		_, w := run(t, g, Phase{Time: short})
		faultless(t, w)
		if w.Messages == 0 || w.Lost+w.Duplicates+w.Reordered != 0 || w.Verified != w.Messages*128 {
			t.Errorf("%d messages, %d lost, %d duplicates, %d reordered, %d bytes verified",
				w.Messages, w.Lost, w.Duplicates, w.Reordered, w.Verified)
		}
	})
}

// Without Config.Verify, only phases with Verify are verified.
func TestPhasesThatVerify(t *testing.T) {
	g := load(t, serve(t, "tcp", func(c net.Conn) {
		buf := make([]byte, 128)
		for {
			if _, err := io.ReadFull(c, buf); err != nil {
				return
			}
			buf[100] ^= 1
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	}), &Echo{}, func(c *Config) { c.Verify = false })
	if _, w := run(t, g, Phase{Time: short}); w.Errors.Total() != 0 || w.Verified != 0 || w.Messages == 0 {
		t.Errorf("%d messages, %d bytes compared, errors: %v", w.Messages, w.Verified, w.Errors)
	}
	s, err := g.Run(t.Context(), Phase{Time: short, Verify: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w := s.Windows[0]; w.Errors[record.Corrupt] == 0 || w.Messages != 0 {
		t.Errorf("%d messages, errors: %v", w.Messages, w.Errors)
	}
}

// With Hello each connection is served once, before the phase begins.
func TestHoldHello(t *testing.T) {
	g := load(t, serve(t, "tcp", echoing), &Hold{Hello: true}, func(c *Config) { c.Connections = 50 })
	opening, err := g.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := g.Run(t.Context(), Phase{Time: short}, nil)
	if err != nil {
		t.Fatal(err)
	}
	faultless(t, s.Windows[0])
	if n := opening.Windows[0].Messages + s.Windows[0].Messages; n != 50 || s.Open != 50 {
		t.Errorf("%d messages over 50 connections, of which %d stand", n, s.Open)
	}
}

// packets runs handle for each datagram, and returns the URL.
func packets(t *testing.T, handle func(p []byte, reply func([]byte))) string {
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		buf := make([]byte, maxDatagram)
		for {
			n, from, err := l.ReadFrom(buf)
			if err != nil {
				return
			}
			handle(buf[:n], func(p []byte) { _, _ = l.WriteTo(p, from) })
		}
	}()
	return "udp://" + l.LocalAddr().String()
}

func TestSlow(t *testing.T) {
	g := load(t, serve(t, "tcp", echoing), &Slow{Size: FixedSize(10), Piece: 2, Every: 2 * time.Millisecond}, nil)
	s, w := run(t, g, Phase{Time: short})
	faultless(t, w)
	// There are four pauses between five pieces.
	if w.Messages == 0 || w.Messages > 4*int64(s.Elapsed/(8*time.Millisecond)+2) {
		t.Errorf("%d messages in %v", w.Messages, s.Elapsed)
	}
}

// A slow reader is slow, and the target soon cannot send to it.
func TestSlowReader(t *testing.T) {
	rings(t, func(t *testing.T, ring reactor.RingKind) {
		const size, piece, every = 2000, 200, 5 * time.Millisecond
		mode := &Slow{Direction: "read", Size: FixedSize(size), Piece: piece, Every: every}
		g := load(t, serve(t, "tcp", echoing), mode, on(ring))
		s, w := run(t, g, Phase{Time: short})
		faultless(t, w)
		if w.Messages == 0 || w.Latency.Min() < (size/piece-2)*every || w.BytesIn > 4*piece*int64(s.Elapsed/every+2) {
			t.Errorf("%d messages in %v, the fastest in %v: %d bytes", w.Messages, s.Elapsed, w.Latency.Min(), w.BytesIn)
		}
	})
	const much = 4 << 20
	took := make(chan int, 1)
	g := load(t, serve(t, "tcp", func(c net.Conn) {
		_, _ = c.Read(make([]byte, 100))
		_ = c.(*net.TCPConn).SetWriteBuffer(4 << 10)
		_ = c.SetWriteDeadline(time.Now().Add(short))
		n, _ := c.Write(make([]byte, much)) // it is cut short by the deadline
		select {
		case took <- n:
		default: // the generator connects again
		}
	}), &Slow{Direction: "read", Size: FixedSize(100), Every: time.Second}, func(c *Config) {
		c.Connections, c.Verify = 1, false
	})
	run(t, g, Phase{Time: 2 * short, Patience: time.Millisecond})
	if n := <-took; n > 100<<10 {
		t.Errorf("the target could send %d bytes to who reads none", n)
	}
}

func TestHalfClose(t *testing.T) {
	rings(t, func(t *testing.T, ring reactor.RingKind) {
		g := load(t, serve(t, "tcp", func(c net.Conn) {
			all, _ := io.ReadAll(c) // replies only behind the end
			_, _ = c.Write(all)
		}), &HalfClose{}, on(ring))
		_, w := run(t, g, Phase{Time: short})
		faultless(t, w)
		if w.Messages == 0 || w.Verified != w.Messages*16<<10 {
			t.Errorf("%d messages, %d bytes verified", w.Messages, w.Verified)
		}
	})
}
