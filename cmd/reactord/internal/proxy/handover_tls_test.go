package proxy

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/handover"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/tlsrecord"
	records "github.com/reactord/reactord/internal/testing/tlsrecord"
	"github.com/reactord/reactord/reactor"
)

// moving are options by which connections with TLS move.
func moving() tlsOptions {
	return tlsOptions{
		loops:    1,
		listener: func(c *config.ServerTLS, _ *certstest.Authority) { c.Handover = true },
		servers:  func(c *config.ClientTLS, _ *certstest.Authority) { c.Handover = true },
	}
}

// move replaces the proxy of a setup by one with another ring and other loops, and waits until n connections have
// moved.
func (s *tlsSetup) move(ring reactor.RingKind, loops, n int) {
	s.t.Helper()
	old := s.p
	s.p = runPlan(s.t, Config{Ring: ring, Loops: loops}, s.plan)
	old.StopAccepting()
	handOver(s.t, old, s.p)
	waitFor(s.t, "all connections have moved", func() bool {
		taken, _ := s.p.Taken()
		return int(taken) == n && old.Open() == 0
	})
	if err := old.Close(); err != nil {
		s.t.Error(err)
	}
}

// Streams of TLS 1.3, with the client, with the server or with both, keep all of their bytes while they move from one
// proxy to the next, again and again, between rings and numbers of loops. They end by close_notify.
func TestHandoverOfTLS(t *testing.T) {
	const streams, moves = 8, 6
	onEachMode(t, func(t *testing.T, ring reactor.RingKind, mode tlsMode) {
		s := startTLS(t, ring, mode, moving())
		var all sync.WaitGroup
		stop := make(chan struct{})
		for i := range streams {
			c, srv := s.pair()
			deadline := time.Now().Add(2 * time.Minute)
			_, _ = c.SetDeadline(deadline), srv.SetDeadline(deadline)
			for from, ends := range [][2]net.Conn{{c, srv}, {srv, c}} {
				all.Go(func() { stream(t, ends[0], ends[1], uint64(2*i+from), stop) })
			}
		}
		rings := []reactor.RingKind{reactor.Epoll, ring}
		for i := range moves {
			s.move(rings[i%2], 1+i%3, streams)
			before := s.p.moved()
			waitFor(t, "bytes flow", func() bool { return s.p.moved() > before+256<<10 })
		}
		close(stop)
		all.Wait()
		waitFor(t, "all connections have ended", func() bool { return s.p.Open() == 0 })
		expectEnd(t, s.p, reasonNormal)
	})
}

// A connection moves in the middle of a record, behind KeyUpdates, and half-closed.
func TestHandoverOfTLSStates(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := startTLS(t, ring, tlsMode{front: true}, moving())
		c, w, srv := s.writer()
		expect := func(text string) {
			t.Helper()
			got := make([]byte, len(text))
			if _, err := io.ReadFull(srv, got); err != nil || string(got) != text {
				t.Fatalf("%q has come, %v, want %q", got, err, text)
			}
			if _, err := srv.Write(got); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
				t.Fatalf("%q has come back, %v, want %q", got, err, text)
			}
		}
		for i, cut := range []int{3, 5, 9} { // in a header, behind it, in the record
			record := w.Record(23, []byte("in the middle"))
			_, _ = raw(c).Write(record[:cut])
			waitFor(t, "the piece has come", func() bool { return receivedOf(s.p) != 0 })
			s.move(ring, 1+i%2, 1)
			_, _ = raw(c).Write(record[cut:])
			expect("in the middle")
			_, _ = raw(c).Write(append(w.KeyUpdate(), w.Record(23, []byte("updated"))...))
			expect("updated")
		}
		_, _ = raw(c).Write(w.KeyUpdate()) // its answer is owed
		s.move(ring, 1, 1)
		_, _ = raw(c).Write(w.Record(23, []byte("answered")))
		expect("answered")
		if err := srv.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Fatalf("%d bytes, %v, want EOF", n, err)
		}
		s.move(reactor.Epoll, 2, 1)
		_, _ = raw(c).Write(w.Record(23, []byte("last")))
		last := make([]byte, 4)
		if _, err := io.ReadFull(srv, last); err != nil || string(last) != "last" {
			t.Fatalf("%q, %v", last, err)
		}
		_, _ = raw(c).Write(w.Record(21, []byte{1, 0})) // close_notify
		if n, err := srv.Read(last); n != 0 || err != io.EOF {
			t.Fatalf("%d bytes, %v, want EOF", n, err)
		}
		_ = raw(c).Close()
		waitFor(t, "it has ended", func() bool { return s.p.Open() == 0 })
		expectEnd(t, s.p, reasonNormal)
	})
}

// receivedOf returns how many bytes the sockets of the clients have received. Those of one that has no whole record are
// in nothing else that is counted.
func receivedOf(p *Proxy) (n uint64) {
	for i := range p.workers {
		onWorker(p, i, func(w *worker) {
			for l := w.conns.First(); l != nil; l = l.Next() {
				if c := connOf(l); c.tls != nil && c.tls.sides[client].framing.cut() {
					n += c.tls.sides[client].received
				}
			}
		})
	}
	return n
}

// What crypto/tls has stays: TLS 1.2, a side without handover, and all of it by default.
func TestHandoverLeavesTLS(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		half := moving()
		half.servers = nil
		old := moving()
		old.listener = func(c *config.ServerTLS, _ *certstest.Authority) { c.Handover, c.MaxVersion = true, config.TLS12 }
		for _, o := range []struct {
			mode    tlsMode
			options tlsOptions
		}{{tlsMode{front: true}, tlsOptions{loops: 1}}, {tlsMode{true, true}, half}, {tlsMode{front: true}, old}} {
			s := startTLS(t, ring, o.mode, o.options)
			c, srv := s.pair()
			next := runPlan(t, Config{Ring: ring, Loops: 1}, s.plan)
			s.p.StopAccepting()
			handOver(t, s.p, next)
			waitFor(t, "it is known that it stays", func() bool {
				h := s.p.Handovers()
				return len(h.Staying) == 1 && h.Staying[0].Reason == "tls" && h.Staying[0].Count == 1
			})
			deliver(t, c, srv, "still here")
		}
	})
}

func deliver(t *testing.T, from, to net.Conn, text string) {
	t.Helper()
	got := make([]byte, len(text))
	_, err := io.WriteString(from, text)
	if _, e := io.ReadFull(to, got); err != nil || e != nil || string(got) != text {
		t.Errorf("%q, %v", got, errors.Join(err, e))
	}
}

// With handover, clients resume sessions, and so does the proxy with servers that send tickets behind the handshake.
func TestHandoverKeepsResumption(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := startTLS(t, ring, tlsMode{true, true}, moving())
		s.client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		for i := range 3 {
			c, srv := s.pair()
			deliver(t, c, srv, "there")
			deliver(t, srv, c, "and back")
			front, back := c.(*tls.Conn).ConnectionState().DidResume, srv.(*tls.Conn).ConnectionState().DidResume
			if want := i > 0; front != want || back != want {
				t.Errorf("connection %d is resumed: %v by the client, %v by the proxy, want %v", i, front, back, want)
			}
			_, _ = c.Close(), srv.Close()
		}
	})
}

// A session ticket that crypto/tls does not take is no harm: what it answers is not sent, because it would have the
// keys of the record layer.
func TestHandoverOfBadTicket(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		s := startTLS(t, ring, tlsMode{back: true}, moving())
		var keys strings.Builder
		s.server.KeyLogWriter, s.server.SessionTicketsDisabled = &keys, true
		c, srv := s.pair()
		w, err := records.NewServerWriter(srv.(*tls.Conn), keys.String())
		if err != nil {
			t.Skip(err) // without AES instructions another cipher suite is negotiated
		}
		const tooLong = 8 * 24 * 60 * 60 // seconds; RFC 8446, section 4.6.1, allows a week
		body := binary.BigEndian.AppendUint32(nil, tooLong)
		body = append(body, 0, 0, 0, 0, 0, 0, 1, 'x', 0, 0) // age, nonce, ticket, extensions
		_, _ = raw(srv).Write(w.Record(22, append([]byte{4, 0, 0, byte(len(body))}, body...)))
		_, _ = raw(srv).Write(w.Record(23, []byte("behind a ticket")))
		got := make([]byte, len("behind a ticket"))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "behind a ticket" {
			t.Fatalf("%q, %v", got, err)
		}
		deliver(t, c, srv, "and back")
	})
}

// The secrets of a connection are not in the memory of the frames that have carried them.
func TestHandoverWipesFrames(t *testing.T) {
	s := startTLS(t, reactor.Epoll, tlsMode{front: true}, moving())
	c, srv := s.pair()
	var before tlsrecord.State
	onWorker(s.p, 0, func(w *worker) { before = connOf(w.conns.First()).tls.sides[client].records().State() })
	next := runPlan(t, Config{Ring: reactor.Epoll, Loops: 1}, s.plan)
	s.p.StopAccepting()
	handOver(t, s.p, next)
	waitFor(t, "it has moved", func() bool { n, _ := next.Taken(); return n == 1 })
	deliver(t, c, srv, "moved")
	text, err := json.Marshal(before.In.Secret)
	if err != nil {
		t.Fatal(err)
	}
	secret := bytes.Trim(text, `"`)
	onWorker(next, 0, func(w *worker) {
		for _, x := range w.takings {
			if bytes.Contains(x.in[:cap(x.in)], secret) || bytes.Contains(x.buf[:], secret) {
				t.Error("a taking has the secret")
			}
		}
	})
	onWorker(s.p, 0, func(w *worker) {
		for _, o := range w.offers {
			if bytes.Contains(o.frame[:cap(o.frame)], secret) {
				t.Error("offers have the secret")
			}
		}
	})
	var f handover.Frame
	f.Records = []handover.Record{{Sides: [2]handover.Side{{TLS: mustJSON(t, &before)}}}}
	if b, _ := f.Append(nil); !bytes.Contains(b, secret) {
		t.Error("a frame has no secret: the test finds nothing")
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
