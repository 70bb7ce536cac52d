package tlsrecord

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"
	_ "unsafe" // for the cipher suites of crypto/tls

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
)

// The cipher suites that crypto/tls negotiates. TLS 1.3 has no setting for them, and these names may be used.
//
//go:linkname tls13Suites crypto/tls.defaultCipherSuitesTLS13
//go:linkname tls13SuitesNoAES crypto/tls.defaultCipherSuitesTLS13NoAES
var tls13Suites, tls13SuitesNoAES []uint16

// useSuite has crypto/tls negotiate one cipher suite until the test ends.
func useSuite(t testing.TB, id uint16) {
	one, other := tls13Suites, tls13SuitesNoAES
	t.Cleanup(func() { tls13Suites, tls13SuitesNoAES = one, other })
	tls13Suites, tls13SuitesNoAES = []uint16{id}, []uint16{id}
}

// eachSuite runs a test with each cipher suite.
func eachSuite(t *testing.T, test func(t *testing.T, id uint16)) {
	for i := range suites {
		t.Run(tls.CipherSuiteName(suites[i].id), func(t *testing.T) {
			useSuite(t, suites[i].id)
			test(t, suites[i].id)
		})
	}
}

// stream is one direction of a connection in memory.
type stream struct {
	mu      sync.Mutex
	arrived sync.Cond
	b       []byte
	ended   bool
}

// end is an end of a connection in memory, with as much of net.Conn as crypto/tls uses.
type end struct {
	net.Conn
	in, out   *stream
	random    *rand.Rand // sizes of the pieces that arrive; nil: all that there is
	handshake bool       // Read waits, and returns bytes of one record; what is written is kept
	left      int        // bytes of that record
	written   []byte
	room      []byte
	sink      *sink // takes what is written, if set
}

// newEnds returns the ends of a connection.
func newEnds(random *rand.Rand) (a, b *end) {
	x, y := &stream{}, &stream{}
	x.arrived.L, y.arrived.L = &x.mu, &y.mu
	return &end{in: x, out: y, random: random}, &end{in: y, out: x, random: random}
}

func (e *end) Read(p []byte) (int, error) {
	e.in.mu.Lock()
	defer e.in.mu.Unlock()
	if e.handshake {
		p = e.awaitRecord(p)
	} else if e.random != nil && len(p) != 0 {
		p = p[:e.random.IntN(len(p)+1)]
	}
	n := copy(p, e.in.b)
	e.in.b = e.in.b[n:]
	switch {
	case n != 0 && e.handshake:
		e.left -= n
	case n == 0 && e.in.ended && len(e.in.b) == 0:
		return 0, io.EOF
	case n == 0:
		return 0, os.ErrDeadlineExceeded
	}
	return n, nil
}

// awaitRecord waits for bytes, and returns what of p may be filled.
func (e *end) awaitRecord(p []byte) []byte {
	need := 1
	if e.left == 0 {
		need = recordHeader
	}
	for len(e.in.b) < need && !e.in.ended {
		e.in.arrived.Wait()
	}
	if e.left == 0 && len(e.in.b) >= recordHeader {
		e.left = recordHeader + bodyLen(e.in.b)
	}
	return p[:min(len(p), e.left)]
}

func (e *end) Write(p []byte) (int, error) {
	if e.sink != nil {
		return e.sink.Write(p)
	}
	e.out.mu.Lock()
	defer e.out.mu.Unlock()
	e.out.b = append(e.out.b, p...)
	if e.handshake {
		e.written = append(e.written, p...)
	}
	e.out.arrived.Signal()
	return len(p), nil
}

// end ends what this end sends.
func (e *end) end() {
	e.out.mu.Lock()
	defer e.out.mu.Unlock()
	e.out.ended = true
	e.out.arrived.Signal()
}

func (e *end) Room(n int) []byte {
	if cap(e.room) < n {
		e.room = make([]byte, 0, n)
	}
	return e.room
}

func (e *end) Close() error                     { return nil }
func (e *end) SetDeadline(time.Time) error      { return nil }
func (e *end) SetWriteDeadline(time.Time) error { return nil }
func (e *end) RemoteAddr() net.Addr             { return &net.UnixAddr{} }

// side is one side of a connection whose handshake is done.
type side struct {
	*end
	server bool
	tls    *tls.Conn
	state  State
	keys   KeyLog
}

// configs returns the configurations of a client and a server.
func configs(t testing.TB) (client, server *tls.Config) {
	ca := certstest.New(t)
	pair := ca.Pair(ca.Issue("peer", certstest.Key(t), time.Hour, "peer.test"))
	client = &tls.Config{RootCAs: ca.Pool, ServerName: "peer.test", MinVersion: tls.VersionTLS13}
	client.CurvePreferences = []tls.CurveID{tls.X25519}         // which is fast
	client.ClientSessionCache = tls.NewLRUClientSessionCache(1) // or no tickets are sent
	server = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: ca.Pool}
	return client, server
}

// shake does a handshake in memory.
func shake(t testing.TB, random *rand.Rand, clientConfig, serverConfig *tls.Config) (client, server *side) {
	t.Helper()
	a, b := newEnds(random)
	client, server = &side{end: a}, &side{end: b, server: true}
	clientConfig, serverConfig = clientConfig.Clone(), serverConfig.Clone()
	clientConfig.KeyLogWriter, serverConfig.KeyLogWriter = &client.keys, &server.keys
	client.tls, server.tls = tls.Client(a, clientConfig), tls.Server(b, serverConfig)
	a.handshake, b.handshake = true, true
	failed := make(chan error, 1)
	go func() {
		err := client.tls.Handshake()
		if err != nil {
			a.end()
		}
		failed <- err
	}()
	err := server.tls.Handshake()
	if err != nil {
		b.end()
	}
	if err := errors.Join(err, <-failed); err != nil {
		t.Fatal(err)
	}
	a.handshake, b.handshake = false, false
	for _, s := range []*side{client, server} {
		s.state, err = s.keys.State(s.tls.ConnectionState().CipherSuite, s.server, s.written)
		if err != nil {
			t.Fatal(err)
		}
	}
	return client, server
}

// conn returns a Conn that continues from the handshake.
func (s *side) conn(t testing.TB) *Conn {
	t.Helper()
	c, err := New(s.end, s.state)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// moved returns the connection in another process: from its state in JSON.
func moved(t testing.TB, c *Conn, to Transport) *Conn {
	t.Helper()
	state := c.State()
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	c.Wipe()
	var s State
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	next, err := New(to, s)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	again := next.State()
	text2, err := json.Marshal(&again)
	if err != nil || !bytes.Equal(text, text2) {
		t.Fatalf("the state has changed:\n%s\n%s", text, text2)
	}
	return next
}

// sealer makes the records of a peer.
type sealer struct{ half }

func newSealer(t testing.TB, suite uint16, d Direction) *sealer {
	t.Helper()
	s := &sealer{}
	var err error
	if s.suite, err = findSuite(suite); err == nil {
		err = s.use(d.Secret)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.seq = d.Sequence
	return s
}

// inner returns a record of an inner plaintext.
func (s *sealer) inner(plain []byte) []byte {
	n := len(plain) + tagLen
	record := make([]byte, 0, recordHeader+n)
	record = append(record, typeApplicationData, versionMajor, versionMinor, byte(n>>8), byte(n))
	return s.seal(append(record, plain...))
}

func (s *sealer) record(kind byte, content []byte) []byte {
	return s.inner(append(bytes.Clone(content), kind))
}

// keyUpdate returns the record of a KeyUpdate, and changes the key.
func (s *sealer) keyUpdate(t testing.TB, request byte) []byte {
	t.Helper()
	r := s.record(typeHandshake, []byte{typeKeyUpdate, 0, 0, 1, request})
	if err := s.update(); err != nil {
		t.Fatal(err)
	}
	return r
}

// requestUpdate sends a KeyUpdate that requests one.
func (c *Conn) requestUpdate(t testing.TB) {
	t.Helper()
	err := c.writeRecord(typeHandshake, []byte{typeKeyUpdate, 0, 0, 1, 1})
	if err == nil {
		err = c.out.update()
	}
	if err != nil {
		t.Fatal(err)
	}
}
