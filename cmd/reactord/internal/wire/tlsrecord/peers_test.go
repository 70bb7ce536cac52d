package tlsrecord

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/internal/testenv"
)

const patience = 10 * time.Second

// socket is a TCP connection as a transport. During a handshake it reads one record at a time.
type socket struct {
	net.Conn
	handshake bool
	header    []byte // of the record, as far as it was read
	left      int    // bytes of its body
	written   []byte
	room      []byte
}

func (s *socket) Read(p []byte) (int, error) {
	if !s.handshake {
		return s.Conn.Read(p)
	}
	if s.left == 0 {
		n, err := s.Conn.Read(p[:min(len(p), recordHeader-len(s.header))])
		if s.header = append(s.header, p[:n]...); len(s.header) == recordHeader {
			s.left = bodyLen(s.header)
			s.header = nil
		}
		return n, err
	}
	n, err := s.Conn.Read(p[:min(len(p), s.left)])
	s.left -= n
	return n, err
}

func (s *socket) Write(p []byte) (int, error) {
	if s.handshake {
		s.written = append(s.written, p...)
	}
	return s.Conn.Write(p)
}

func (s *socket) Room(n int) []byte {
	if cap(s.room) < n {
		s.room = make([]byte, 0, n)
	}
	return s.room
}

// program is a running peer.
type program struct {
	t     *testing.T
	stdin io.Writer
	mu    sync.Mutex
	out   bytes.Buffer
}

func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *program) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// await waits until the program has printed something, and returns the match.
func (p *program) await(pattern string) []string {
	p.t.Helper()
	r := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if m := r.FindStringSubmatch(p.output()); m != nil {
			return m
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("it has not printed %q", pattern)
		}
	}
}

func (p *program) say(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, text); err != nil {
		p.t.Fatal(err)
	}
}

// run starts a program that is in a package of Debian, until the test ends.
func run(t *testing.T, pkg string, argv ...string) *program {
	t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil && os.Getenv("CI") != "" {
		t.Fatalf("%v: install %s", err, pkg)
	} else if err != nil {
		t.Skipf("%v: install %s", err, pkg)
	}
	p := &program{t: t}
	cmd := exec.Command(path, argv[1:]...)
	cmd.Stdout, cmd.Stderr = p, p
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s has printed:\n%s", argv[0], p.output())
		}
	})
	return p
}

// peerSetup has certificates for peers.
type peerSetup struct {
	t      *testing.T
	pem    string // a certificate and its key
	client *tls.Config
	server *tls.Config
	suite  uint16
}

func newPeerSetup(t *testing.T, suite uint16) *peerSetup {
	ca := certstest.New(t)
	path := ca.Issue("peer", certstest.Key(t), time.Hour, "peer.test")
	return &peerSetup{
		t: t, suite: suite, pem: path,
		client: &tls.Config{
			RootCAs: ca.Pool, ServerName: "peer.test", ClientSessionCache: tls.NewLRUClientSessionCache(1),
		},
		server: &tls.Config{Certificates: []tls.Certificate{ca.Pair(path)}},
	}
}

// connect does the handshake, and returns the connection behind it.
func (s *peerSetup) connect(raw net.Conn, server bool) (*Conn, *socket) {
	s.t.Helper()
	s.t.Cleanup(func() { raw.Close() })
	_ = raw.SetDeadline(time.Now().Add(patience))
	var log KeyLog
	e := &socket{Conn: raw, handshake: true}
	var handshake *tls.Conn
	if server {
		config := s.server.Clone()
		config.KeyLogWriter = &log
		handshake = tls.Server(e, config)
	} else {
		config := s.client.Clone()
		config.KeyLogWriter = &log
		handshake = tls.Client(e, config)
	}
	if err := handshake.Handshake(); err != nil {
		s.t.Fatal(err)
	}
	e.handshake = false
	if id := handshake.ConnectionState().CipherSuite; id != s.suite {
		s.t.Fatalf("the cipher suite is %s", tls.CipherSuiteName(id))
	}
	state, err := log.State(s.suite, server, e.written)
	if err != nil {
		s.t.Fatal(err)
	}
	c, err := New(e, state)
	if err != nil {
		s.t.Fatal(err)
	}
	return c, e
}

// dial connects to an address as soon as somebody listens.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			return c
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func (s *peerSetup) listen() net.Listener {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { l.Close() })
	_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
	return l
}

func (s *peerSetup) accept(l net.Listener) net.Conn {
	s.t.Helper()
	c, err := l.Accept()
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// readLine reads up to a line feed.
func readLine(t *testing.T, c *Conn) string {
	t.Helper()
	line, err := bufio.NewReaderSize(io.LimitReader(c, 1<<20), 16).ReadString('\n')
	if err != nil {
		t.Fatalf("read %q: %v", line, err)
	}
	return line
}

// awaitUpdate reads until the peer's key has changed.
func awaitUpdate(t *testing.T, c *Conn, e *socket) {
	t.Helper()
	before := c.in.secret
	for deadline := time.Now().Add(patience); c.in.secret == before; {
		_ = e.SetReadDeadline(time.Now().Add(time.Millisecond))
		if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("read %d, %v", n, err)
		}
		if time.Now().After(deadline) {
			t.Fatal("the peer has not changed its key")
		}
	}
	_ = e.SetReadDeadline(time.Now().Add(patience))
}

// converse writes and reads lines with an interactive program of OpenSSL, which changes keys by commands, and so do we.
func converse(t *testing.T, c *Conn, e *socket, p *program) {
	for i, command := range []string{"", "k", "K", "K", "ours", "asked", "k"} {
		line := fmt.Sprintf("line %d behind %q\n", i, command)
		switch command {
		case "":
		case "ours":
			if err := c.updateKey(); err != nil {
				t.Fatal(err)
			}
		case "asked": // OpenSSL answers with the next line
			c.requestUpdate(t)
		default:
			p.say(command + "\n")
			awaitUpdate(t, c, e)
			if c.answer != (command == "K") {
				t.Errorf("behind %s, an answer is pending: %t", command, c.answer)
			}
		}
		if _, err := io.WriteString(c, "our "+line); err != nil {
			t.Fatal(err)
		}
		p.await("our " + regexp.QuoteMeta(line))
		c = moved(t, c, e)
		before := c.in.secret
		p.say("their " + line)
		if got := readLine(t, c); got != "their "+line {
			t.Errorf("read %q", got)
		}
		if changed := c.in.secret != before; changed != (command == "asked") {
			t.Errorf("behind %q, the peer's key has changed: %t", command, changed)
		}
		c = moved(t, c, e)
	}
	p.say("Q\n")
	n, err := c.Read(make([]byte, 100))
	if ended := c.State().Ended; n != 0 || err != io.EOF || ended != c.server { // s_server only closes its socket
		t.Errorf("at the end, read %d, %v; close_notify: %t", n, err, ended)
	}
	if err := c.CloseWrite(); err != nil {
		t.Error(err)
	}
}

// OpenSSL is the server, and then the client.
func TestOpenSSL(t *testing.T) {
	eachSuite(t, func(t *testing.T, suite uint16) {
		name := tls.CipherSuiteName(suite)
		t.Run("server", func(t *testing.T) {
			s := newPeerSetup(t, suite)
			p := run(t, "openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", s.pem, "-key", s.pem,
				"-tls1_3", "-ciphersuites", name)
			address := p.await(`ACCEPT (127\.0\.0\.1:\d+)`)[1]
			c, e := s.connect(dial(t, address), false)
			converse(t, c, e, p)
		})
		t.Run("client", func(t *testing.T) {
			s := newPeerSetup(t, suite)
			l := s.listen()
			p := run(t, "openssl", "openssl", "s_client", "-connect", l.Addr().String(), "-tls1_3", "-ciphersuites", name)
			c, e := s.connect(s.accept(l), true)
			converse(t, c, e, p)
		})
	})
}

// priority is what GnuTLS calls a cipher suite.
func priority(suite uint16) string {
	return "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+" + map[uint16]string{
		tls.TLS_AES_128_GCM_SHA256: "AES-128-GCM", tls.TLS_AES_256_GCM_SHA384: "AES-256-GCM",
		tls.TLS_CHACHA20_POLY1305_SHA256: "CHACHA20-POLY1305",
	}[suite]
}

// GnuTLS is a server that echoes, and then a client that changes keys by commands.
func TestGnuTLS(t *testing.T) {
	eachSuite(t, func(t *testing.T, suite uint16) {
		t.Run("server", func(t *testing.T) {
			s := newPeerSetup(t, suite)
			_, port, _ := strings.Cut(testenv.Vacant(t), ":")
			p := run(t, "gnutls-bin", "gnutls-serv", "--echo", "--port", port, "--x509certfile", s.pem, "--x509keyfile", s.pem,
				"--priority", priority(suite))
			p.await("Echo Server listening|listening on")
			c, e := s.connect(dial(t, "127.0.0.1:"+port), false)
			for i := range 6 {
				if i%2 == 1 {
					c.requestUpdate(t)
				}
				line := strings.Repeat("echo ", 1+i*600) + "\n"
				if _, err := io.WriteString(c, line); err != nil {
					t.Fatal(err)
				}
				if got := readAll(t, c, len(line)); got != line {
					t.Errorf("%d bytes are echoed as %.50q", len(line), got)
				}
				c = moved(t, c, e)
			}
			if err := c.CloseWrite(); err != nil {
				t.Error(err)
			}
			if _, err := c.Read(make([]byte, 100)); err != io.EOF {
				t.Error(err)
			}
		})
		t.Run("client", func(t *testing.T) {
			s := newPeerSetup(t, suite)
			l := s.listen()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			p := run(t, "gnutls-bin", "gnutls-cli", "--port", port, "--no-ca-verification", "--inline-commands",
				"--priority", priority(suite), "127.0.0.1")
			c, e := s.connect(s.accept(l), true)
			p.await("Simple Client Mode")
			for i, command := range []string{"", "^rekey1^", "^rekey^", "^rekey^"} {
				if command != "" {
					p.say(command + "\n")
					awaitUpdate(t, c, e)
				}
				line := fmt.Sprintf("line %d\n", i)
				if _, err := io.WriteString(c, "our "+line); err != nil {
					t.Fatal(err)
				}
				p.await("our " + line)
				c = moved(t, c, e)
				p.say("their " + line)
				if got := readLine(t, c); got != "their "+line {
					t.Errorf("read %q", got)
				}
			}
			if err := c.CloseWrite(); err != nil {
				t.Error(err)
			}
			p.await("Peer has closed the GnuTLS connection")
		})
	})
}

// readAll reads n bytes.
func readAll(t *testing.T, c *Conn, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}
