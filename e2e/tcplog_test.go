package e2e

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
)

// ending is a cause by which a connection ends, in HAProxy's configuration and in ours. Its client has sent hello, and
// the server has read it, unless the server cannot be reached.
type ending struct {
	name     string
	code     string                        // what HAProxy logs: the table of docs/operating.md
	to       func(*testing.T) string       // the server; nil: it answers what it reads
	defaults string                        // of HAProxy, behind its generous timeouts
	server   string                        // options of its server
	backend  string                        // settings of our backend, each with a comma behind it
	ours     string                        // settings of our server, each with a comma before it
	use      func(t *testing.T, at string) // the client
}

// talk makes a connection that has reached the server, and continues with it.
func talk(then func(peer)) func(*testing.T, string) {
	return func(t *testing.T, at string) {
		p := dial(t, at)
		defer p.Close()
		p.send([]byte("hello"))
		then(p)
	}
}

// knock is a client that says nothing, and waits for the end.
func knock(t *testing.T, at string) {
	c, err := net.DialTimeout("tcp", at, patience)
	if err != nil {
		return // it is reset before this is noticed
	}
	defer c.Close()
	p := newPeer(t, c)
	_, _ = io.Copy(io.Discard, p)
}

// reads returns a server that reads hello, and continues with the connection.
func reads(then func(c *net.TCPConn)) func(*testing.T) string {
	return func(t *testing.T) string {
		return serve(t, func(c *net.TCPConn) {
			if _, err := io.ReadFull(c, make([]byte, len("hello"))); err == nil {
				then(c)
			}
		})
	}
}

// silent reads until the connection ends.
func silent(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) }

// occupied has the only place at the server taken while f runs.
func occupied(f func(t *testing.T, at string)) func(*testing.T, string) {
	return func(t *testing.T, at string) {
		p := dial(t, at)
		p.send([]byte("x"))
		p.expect([]byte("x"))
		f(t, at)
		time.Sleep(500 * time.Millisecond) // longer than the queue's timeout, which is 300 ms
		p.Close()
	}
}

var endings = []ending{
	{name: "both sides end", code: "--", use: talk(func(p peer) {
		p.expect([]byte("hello"))
		p.finish()
		p.expectEOF()
	})},
	{name: "the server ends first", code: "--", to: reads(func(c *net.TCPConn) { c.Close() }),
		use: talk(func(p peer) { p.expectEOF(); p.Close() })},
	{name: "the client resets", code: "CD", use: talk(func(p peer) {
		p.expect([]byte("hello"))
		p.reset()
	})},
	{name: "the server resets", code: "SD", to: reads(func(c *net.TCPConn) { _ = c.SetLinger(0); c.Close() }),
		use: talk(func(p peer) { p.expectGone() })},
	{name: "the server refuses", code: "SC", to: func(t *testing.T) string { return testenv.Vacant(t) }, use: knock},
	{name: "the server answers no SYN", code: "sC", to: blackHole,
		defaults: "timeout connect 300ms", backend: "connect_timeout: 300ms,", use: knock},
	{name: "the server's certificate is of another authority", code: "SC",
		to: func(t *testing.T) string {
			return serveTLS(t, newAuthority(t).issue("server", "proxy.test"))
		},
		server:  "ssl verify required ca-file CA",
		backend: "tls: {enabled: true, ca: 'CA', server_name: proxy.test},", use: knock},
	{name: "the server of TLS says nothing", code: "sC", to: reads(silent),
		defaults: "timeout connect 300ms", server: "ssl verify none",
		backend: "connect_timeout: 300ms, tls: {enabled: true, insecure: true, handshake_timeout: 300ms},", use: knock},
	{name: "no server is there", code: "SC", server: "disabled", ours: ", state: maintenance", use: knock},
	{name: "neither side speaks", code: "cD", to: reads(silent),
		defaults: "timeout client 300ms", backend: "first_byte_timeout: 300ms,", use: knock},
	{name: "the server does not answer", code: "sD", to: reads(silent),
		defaults: "timeout server 300ms", backend: "idle_timeout: 300ms,",
		use: talk(func(p peer) { p.expectGone() })},
	{name: "both are idle", code: "cD", defaults: "timeout client 300ms", backend: "idle_timeout: 300ms,",
		use: talk(func(p peer) { p.expect([]byte("hello")); p.expectGone() })},
	{name: "the client is silent behind the server's end", code: "cD",
		to:       reads(func(c *net.TCPConn) { _ = c.CloseWrite(); silent(c) }),
		defaults: "timeout client 300ms", backend: "half_close_timeout: 300ms,",
		use: talk(func(p peer) { p.expectEOF(); silent(p.TCPConn); time.Sleep(500 * time.Millisecond) })},
	{name: "the server is silent behind the client's end", code: "sD", to: reads(silentAfterEOF),
		defaults: "timeout server 300ms", backend: "half_close_timeout: 300ms,",
		use: talk(func(p peer) { p.finish(); p.expectGone() })},
	{name: "the queue takes too long", code: "sQ", defaults: "timeout queue 300ms", server: "maxconn 1",
		backend: "queue: {size: 10, timeout: 300ms},", ours: ", max_connections: 1", use: occupied(knock)},
}

// silentAfterEOF reads until EOF, and then waits without an answer.
func silentAfterEOF(c *net.TCPConn) {
	silent(c)
	time.Sleep(time.Second)
}

// Each code of the format tcplog is that of a running HAProxy to which the same happens.
func TestTCPLogCodes(t *testing.T) {
	program := need(t, "haproxy", "haproxy")
	for _, e := range endings {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(e.server, "CA") {
				ca := newAuthority(t).path("ca.pem")
				e.server, e.backend = strings.ReplaceAll(e.server, "CA", ca), strings.ReplaceAll(e.backend, "CA", ca)
			}
			to := serve(t, echo)
			if e.to != nil {
				to = e.to(t)
			}
			his, ours := e.ofHAProxy(t, program, to), e.ofOurs(t, to)
			if his != e.code || ours != e.code {
				t.Errorf("HAProxy logs %s, and this program %s; the documentation says %s", his, ours, e.code)
			}
		})
	}
}

// ofHAProxy is the code that HAProxy logs.
func (e *ending) ofHAProxy(t *testing.T, program, to string) string {
	t.Helper()
	sink, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	addr := testenv.Vacant(t)
	config := filepath.Join(t.TempDir(), "haproxy.cfg")
	write(t, config, fmt.Sprintf(`
global
	log %s format raw local0
defaults
	mode tcp
	option tcplog
	log global
	retries 0
	timeout connect 10s
	timeout client 20s
	timeout server 20s
	timeout queue 20s
	%s
listen web
	bind %s
	server one %s %s
`, sink.LocalAddr(), e.defaults, addr, to, e.server))
	lines := make(chan string, 100)
	go func() {
		buf := make([]byte, 4096)
		for {
			n, _, err := sink.ReadFrom(buf)
			if err != nil {
				close(lines)
				return
			}
			if m := tcplog.FindStringSubmatch(strings.TrimSpace(string(buf[:n]))); m != nil {
				lines <- m[10]
			}
		}
	}()
	next := func() string {
		select {
		case code := <-lines:
			return code
		case <-time.After(patience):
			t.Fatal("HAProxy logs nothing")
			return ""
		}
	}
	launch(t, addr, program, "-db", "-f", config)
	e.use(t, addr)
	return next()
}

// ofOurs is the code that this program logs.
func (e *ending) ofOurs(t *testing.T, to string) string {
	t.Helper()
	log := filepath.Join(t.TempDir(), "access.log")
	d := startFile(t, writeConfig(t, fmt.Sprintf(`
metrics: 127.0.0.1:0
access_log: {format: tcplog, path: '%s'}
listeners: [{name: web, address: 'tcp://127.0.0.1:0', backend: b}]
backends: [{name: b, retries: 0, %s servers: [{address: 'tcp://%s'%s}]}]
`, log, e.backend, to, e.ours)))
	e.use(t, d.addr)
	eventually(t, "a line", func() bool { return len(linesOf(t, log)) > 0 })
	m := tcplog.FindStringSubmatch(linesOf(t, log)[0])
	if m == nil {
		t.Fatal("not a line: ", linesOf(t, log)[0])
	}
	return m[10]
}
