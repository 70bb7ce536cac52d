package proxy

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testing/program"
	records "github.com/reactord/reactord/internal/testing/tlsrecord"
)

// Two processes on one simulated kernel, as in TestSimulationOfHandovers, and TLS 1.3 with the clients, with the
// servers, or with both. The peers are of crypto/tls, or write their records by hand, with KeyUpdates. Records arrive
// in pieces, and connections move between two of these. A connection that is cut off never looks like one that has
// ended, even if a process is killed. In the end the memory of no process that was not killed has a secret.
func TestSimulationOfTLSHandovers(t *testing.T) {
	defer abandonTasks() // of the processes that were killed. Not parallel: SetGlobalRandom is for the whole process
	cert := selfSigned(t)
	var saw struct {
		handoverCounts
		ends, resets, byHand, updates int
	}
	seeds := manySeeds()
	for seed := *simFrom; seed < *simFrom+seeds; seed++ {
		cryptotest.SetGlobalRandom(t, seed)
		var s *handoverSimulation
		err := simring.Play(func(k *simring.Kernel) func() {
			s = simulateHandover(k, newSecurePeers(t, k, cert))
			return func() {
				s.check()
				s.secure.check(s)
			}
		}, seed, simring.Flaw(*simFlaw), traceOutput())
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for _, p := range s.talk.Parties() {
			switch {
			case p.SawEnd:
				saw.ends++
			case p.SawReset:
				saw.resets++
			}
		}
		saw.byHand, saw.updates = saw.byHand+s.secure.byHand, saw.updates+s.secure.updates
		saw.add(s)
	}
	t.Logf("%+v", saw)
	if seeds >= 100 && (saw.ends < 100 || saw.taken < 50 || saw.kills < 10 ||
		saw.byHand != 0 && saw.updates < 50) { // without AES instructions another cipher suite is negotiated
		t.Errorf("the simulation did not try enough: %+v", saw)
	}
}

// selfSigned writes a certificate with its key, the same ones each time, so that a seed plays the same run again.
func selfSigned(t *testing.T) (path string) {
	t.Helper()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"sim.test"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
	}
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), crypto.Signer(key))
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "cert.pem")
	text := append(certstest.Block("CERTIFICATE", der), certstest.Block("PRIVATE KEY", secret)...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// securePeers is the TLS of the clients and the servers of a simulation.
type securePeers struct {
	tlsMode
	k       *simring.Kernel
	cert    string
	configs [2]*tls.Config // of clients and servers
	byHand  int            // connections whose records a peer writes by hand
	updates int            // KeyUpdates that were sent
	known   map[any]bool   // of holders
	holders []holder
}

func newSecurePeers(t *testing.T, k *simring.Kernel, cert string) *securePeers {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(cert, cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(pair.Leaf)
	s := &securePeers{tlsMode: tlsModes[k.Rand().IntN(len(tlsModes))], k: k, cert: cert, known: map[any]bool{}}
	s.configs[client] = &tls.Config{RootCAs: roots, ServerName: "sim.test"}
	s.configs[server] = &tls.Config{Certificates: []tls.Certificate{pair}}
	s.configs[server].SetSessionTicketKeys([][32]byte{{1}}) // or the proxy would resume no session
	k.Odds.Buffer = max(k.Odds.Buffer, 1<<8)                // or a handshake would take too many turns
	return s
}

// set lets a proxy speak TLS with the peers, so that its connections can move.
func (s *securePeers) set(l *Listener, b *Backend) {
	if s.front {
		l.Set = func(l *plan.Listener) {
			l.TLS.Certificates = []config.Certificate{{Cert: s.cert}}
			l.TLS.Handover, l.TLS.HandshakeTimeout = true, time.Hour
		}
	}
	if s.back {
		b.Set = func(b *config.Backend) {
			b.TLS.Enabled, b.TLS.CA, b.TLS.ServerName = true, s.cert, "sim.test"
			b.TLS.Handover, b.TLS.HandshakeTimeout = true, time.Hour
		}
	}
}

// on reports whether the peers on a side speak TLS.
func (s *securePeers) on(side int) bool {
	return s != nil && (side == client && s.front || side == server && s.back)
}

// run runs a party with TLS on a connection of a side.
func (s *securePeers) run(t *simring.Thread, p *program.Party, fd, side int) {
	byHand := s.k.Rand().IntN(2) == 0 // if that is possible
	e := &secureEnd{Thread: t, peers: s, party: p, fd: fd, side: side, shakes: true}
	var keys strings.Builder
	c := s.configs[side].Clone()
	c.KeyLogWriter, c.SessionTicketsDisabled = &keys, byHand
	below := &secureSocket{end: e}
	e.tls = tls.Client(below, c)
	newWriter := records.NewWriter
	if side == server {
		e.tls, newWriter = tls.Server(below, c), records.NewServerWriter
	}
	if err := e.tls.Handshake(); err != nil {
		p.SawReset = true
		e.Close()
		return
	}
	e.shakes = false
	if w, err := newWriter(e.tls, keys.String()); byHand && err == nil {
		e.writer = w
		s.byHand++
	}
	p.RunOver(t, e)
}

// secureEnd is one end of a connection with TLS, as a [program.Stream].
type secureEnd struct {
	*simring.Thread
	peers  *securePeers
	party  *program.Party
	tls    *tls.Conn
	writer *records.Writer // writes instead of tls; nil: tls does
	fd     int
	side   int
	shakes bool
	more   bool   // tls may have bytes
	cut    bool   // the socket has ended
	out    []byte // is to be sent
	err    error  // of sending
}

// secureSocket is what crypto/tls has below it. A Read waits only in the handshake, and a Write queues.
type secureSocket struct {
	net.Conn // nil: its methods are not called
	end      *secureEnd
}

// Read takes bytes of the socket.
func (s *secureSocket) Read(p []byte) (int, error) {
	e := s.end
	for {
		n, err := e.Thread.Recv(e.fd, p)
		switch {
		case err == nil && n == 0:
			e.cut = true
			return 0, io.EOF
		case err == nil:
			return n, nil
		case !errors.Is(err, unix.EAGAIN):
			return 0, err
		case !e.shakes:
			return 0, os.ErrDeadlineExceeded
		}
		e.Await(false)
	}
}

// Write queues bytes.
func (s *secureSocket) Write(p []byte) (int, error) {
	s.end.queue(p)
	return len(p), nil
}

// SetWriteDeadline does nothing: a Write does not wait.
func (s *secureSocket) SetWriteDeadline(time.Time) error { return nil }

// flush sends a piece of what is queued, which may end within a record.
func (e *secureEnd) flush() {
	if len(e.out) == 0 {
		return
	}
	n, err := e.Thread.Send(e.fd, e.out[:1+e.peers.k.Rand().IntN(len(e.out))])
	switch {
	case err == nil:
		e.out = e.out[n:]
	case !errors.Is(err, unix.EAGAIN):
		e.err, e.out = err, nil
	}
}

// Await implements [program.Stream].
func (e *secureEnd) Await(write bool) {
	if e.more {
		return
	}
	e.Thread.Await(e.fd, write || len(e.out) != 0)
	e.flush()
}

// queue queues bytes, unless sending has failed.
func (e *secureEnd) queue(p []byte) {
	if e.err == nil {
		e.out = append(e.out, p...)
	}
}

// Recv implements [program.Stream]. Its end is close_notify: a socket that ends without is one that is reset.
func (e *secureEnd) Recv(p []byte) (int, error) {
	n, err := e.tls.Read(p)
	e.more = err == nil
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 0, unix.EAGAIN
	case err == io.EOF && !e.cut:
		return 0, nil
	case err != nil:
		return 0, unix.ECONNRESET
	}
	return n, nil
}

// maxQueued bounds what an end queues.
const maxQueued = 1 << 12

// Send implements [program.Stream].
func (e *secureEnd) Send(p []byte) (int, error) {
	if len(e.out) > maxQueued {
		e.flush()
		return 0, errors.Join(e.err, unix.EAGAIN)
	}
	if e.writer == nil {
		if _, err := e.tls.Write(p); err != nil {
			return 0, err
		}
	} else {
		switch e.peers.k.Rand().IntN(8) {
		case 0:
			e.queue(e.writer.KeyUpdate())
			e.peers.updates++
		case 1:
			e.queue(e.writer.Record(23, nil))
		}
		e.queue(e.writer.Record(23, p))
	}
	e.flush()
	return len(p), e.err
}

// End implements [program.Stream]: it sends close_notify. A client that has seen the server's end may end its socket
// instead.
func (e *secureEnd) End() error {
	if e.side == client && e.party.SawEnd && e.peers.k.Rand().IntN(2) == 0 {
		if e.flushAll(); e.err == nil {
			e.err = e.peers.k.System().Shutdown(e.fd, unix.SHUT_WR)
		}
		return e.err
	}
	if e.writer != nil {
		e.queue(e.writer.Record(21, []byte{1, 0}))
	} else if err := e.tls.CloseWrite(); err != nil {
		return err
	}
	e.flush()
	return e.err
}

// flushAll sends what is queued.
func (e *secureEnd) flushAll() {
	for len(e.out) != 0 {
		e.Until(func() bool { return e.peers.k.Ready(e.fd, unix.POLLOUT) })
		e.flush()
	}
}

// Reset implements [program.Stream].
func (e *secureEnd) Reset() { e.Thread.Reset(e.fd) }

// Close implements [program.Stream].
func (e *secureEnd) Close() {
	e.flushAll()
	_ = e.peers.k.System().Close(e.fd)
}

// holder is what may have secrets.
type holder struct {
	process *simulatedProcess
	what    string
	has     func() bool
}

// watch notes what has secrets, until the clients are done.
func (s *securePeers) watch(t *simring.Thread, of *handoverSimulation) {
	for n := 0; of.clients != 0; n++ {
		for _, p := range of.processes {
			if p.proxy != nil && !p.killed {
				for _, w := range p.proxy.workers {
					s.look(p, w)
				}
			}
		}
		t.Sleep(time.Duration(s.k.Rand().Int64N(1 << min(10+n/8, 32))))
	}
}

// look notes what has secrets on a loop.
func (s *securePeers) look(p *simulatedProcess, w *worker) {
	note := func(what string, key any, has func() bool) {
		if !s.known[key] {
			s.known[key] = true
			s.holders = append(s.holders, holder{p, what, has})
		}
	}
	for l := w.conns.First(); l != nil; l = l.Next() {
		c := connOf(l)
		for side := range c.sockets {
			if c.tls == nil || c.tls.sides[side].records() == nil {
				continue
			}
			r := c.tls.sides[side].records()
			note("a record layer", r, func() bool {
				of := r.State()
				return len(bytes.Trim(append(of.In.Secret, of.Out.Secret...), "\x00")) != 0
			})
		}
	}
	secret := []byte(`"secret":`)
	for _, o := range w.offers {
		note("a frame that was sent", o, func() bool { return bytes.Contains(o.frame[:cap(o.frame)], secret) })
	}
	for _, x := range w.takings {
		note("a frame that was received", x, func() bool {
			return bytes.Contains(x.in[:cap(x.in)], secret) || bytes.Contains(x.buf[:], secret)
		})
	}
}

// check asserts that no secret is left, and that no peer has taken a cut for an end.
func (s *securePeers) check(of *handoverSimulation) {
	for _, h := range s.holders {
		if !h.process.killed && h.has() {
			s.k.Errorf("%s in %s has a secret", h.what, h.process.Name())
		}
	}
	if s.tlsMode == (tlsMode{true, true}) {
		for _, p := range of.talk.Parties() {
			p.Judge(of.hurry) // also if a process was killed
		}
	}
}
