package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/reactor"
)

// startLogged runs a proxy of two loops with an access log.
func startLogged(t *testing.T, ring reactor.RingKind, b Backend, log config.AccessLog, servers ...net.Listener) *Proxy {
	t.Helper()
	cfg := setupOf(b, servers...)
	cfg.Ring, cfg.Loops = ring, 2
	next := cfg.plan()
	next.AccessLog = log
	return runPlan(t, cfg.Config, next)
}

// logged is the lines of an access log, when there are so many.
func logged(t *testing.T, path string, n int) (lines []string) {
	t.Helper()
	waitFor(t, fmt.Sprintf("%d lines", n), func() bool {
		text, _ := os.ReadFile(path)
		lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		return strings.Count(string(text), "\n") >= n
	})
	if len(lines) != n {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), n, strings.Join(lines, "\n"))
	}
	return lines
}

func asObject(t *testing.T, line string) (object map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), &object); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return object
}

// expectFields checks fields of a line.
func expectFields(t *testing.T, line string, want map[string]any) {
	t.Helper()
	got := asObject(t, line)
	for name, v := range want {
		if fmt.Sprint(got[name]) != fmt.Sprint(v) {
			t.Errorf("%s is %v, want %v in\n%s", name, got[name], v, line)
		}
	}
}

// A line has what happened to its connection: where it came from and went to, its bytes, its tries, and its time in the
// queue.
func TestAccessLogLine(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		log := config.AccessLog{Path: filepath.Join(t.TempDir(), "log"), Mode: 0o600}
		p := startLogged(t, ring, Backend{Set: func(b *config.Backend) { b.MaxConnections, b.Retries = 1, 1 }}, log, ln)
		c, s := pair(t, p, ln)
		swap(t, c, s, 1000)
		_, _ = s.Write(make([]byte, 500))
		second, err := net.Dial("tcp", p.Addrs()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		const wait = 50 * time.Millisecond
		waitFor(t, "the second one is in the queue", func() bool { return queued(p) == 1 })
		time.Sleep(wait) // the time in the queue is measured
		from := c.LocalAddr().String()
		_, _ = c.Read(make([]byte, 500))
		c.Close()
		s.Close()
		third, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		swap(t, second.(*net.TCPConn), third.(*net.TCPConn), 1)
		resetConn(third)
		lines := logged(t, log.Path, 2)
		expectFields(t, lines[0], map[string]any{
			"listener": "l", "network": "tcp", "backend": "b", "server": ln.Addr(), "server_address": ln.Addr(),
			"client": from, "peer": from, "local": p.Addrs()[0], "bytes_from_client": 1000, "bytes_from_server": 1500,
			"attempts": 1, "retries": 0, "queue_ms": 0, "opening_ms": -1, "tls_ms": -1, "server_tls_ms": -1,
			"connections": 2, "listener_connections": 2, "server_connections": 1,
			"by": "normal", "phase": "data", "code": "--", "interim": false, "error": nil, "sni": nil,
		})
		expectFields(t, lines[1], map[string]any{"by": "server", "phase": "data", "code": "SD"})
		one, two := asObject(t, lines[0]), asObject(t, lines[1])
		if ms := two["queue_ms"].(float64); ms < float64(wait.Milliseconds()) || ms > two["total_ms"].(float64) {
			t.Errorf("it was in the queue for %v ms of %v", ms, two["total_ms"])
		}
		if ms := one["connect_ms"].(float64); ms < 0 || ms > one["total_ms"].(float64) {
			t.Errorf("it connected for %v ms of %v", ms, one["total_ms"])
		}
		waitFor(t, "the lines are counted", func() bool { return p.Stats().AccessLog.Lines == 2 })
		if n := p.Stats().AccessLog; n.Dropped != 0 || n.Errors != 0 {
			t.Errorf("counted: %+v", *n)
		}
	})
}

// The line of a connection that fails over has its tries, and one without a server has the last error.
func TestAccessLogOfFailures(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		log := config.AccessLog{Path: filepath.Join(t.TempDir(), "log"), Mode: 0o600}
		p := startLogged(t, ring, Backend{}, log, refusing(t), refusing(t))
		expectRefusal(t, p)
		expectFields(t, logged(t, log.Path, 1)[0], map[string]any{
			"attempts": 2, "retries": 1, "queue_ms": 0, "connect_ms": -1, "backend": "b", "code": "SC",
			"error": "connection refused", "why": closeReasons[reasonNoServer].Why,
		})
	})
}

// A connection that stays open has interim lines, and then its last one.
func TestInterimLines(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		log := config.AccessLog{
			Path: filepath.Join(t.TempDir(), "log"), Mode: 0o600, Interim: 100 * time.Millisecond,
			Fields: []string{"interim", "code", "by", "bytes_from_client"},
		}
		p := startLogged(t, ring, Backend{}, log, ln)
		c, s := pair(t, p, ln)
		swap(t, c, s, 7)
		waitFor(t, "interim lines", func() bool {
			text, _ := os.ReadFile(log.Path)
			return strings.Count(string(text), "\n") >= 3
		})
		resetConn(c)
		var lines []string
		waitFor(t, "the last line", func() bool {
			text, _ := os.ReadFile(log.Path)
			lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			return strings.Contains(lines[len(lines)-1], "CD")
		})
		last := len(lines) - 1
		if want := `{"interim":false,"code":"CD","by":"client","bytes_from_client":7}`; lines[last] != want {
			t.Errorf("got %s, want %s", lines[last], want)
		}
		for _, line := range lines[1:last] { // the bytes may come behind the first one
			if want := `{"interim":true,"code":"--","by":"open","bytes_from_client":7}`; line != want {
				t.Errorf("got %s, want %s", line, want)
			}
		}
	})
}

// Connections that are not wanted in the log are not in it.
func TestNotLogged(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		path := filepath.Join(t.TempDir(), "log")
		cfg := setupOf(Backend{}, ln)
		cfg.Ring, cfg.Loops = ring, 1
		second := cfg.Listeners[0]
		second.Name = "quiet"
		third := cfg.Listeners[0]
		third.Name = "secure"
		cert, _ := certFiles(t)
		third.Set = func(l *plan.Listener) { l.TLS.Certificates = []config.Certificate{cert} }
		cfg.Listeners = append(cfg.Listeners, second, third)
		next := cfg.plan()
		next.AccessLog = config.AccessLog{Path: path, Mode: 0o600, SkipEmpty: true, Fields: []string{"by", "listener"}}
		next.Listeners[1].AccessLog = false
		p := runPlan(t, cfg.Config, next)
		use := func(at int, bytes int) {
			c, err := net.Dial("tcp", p.Addrs()[at].String())
			if err != nil {
				t.Fatal(err)
			}
			s, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			before := p.Stats().Listeners[at].Connections
			swap(t, c.(*net.TCPConn), s.(*net.TCPConn), bytes)
			resetConn(c)
			s.Close()
			waitFor(t, "it has ended", func() bool { return p.Stats().Listeners[at].Connections < before })
		}
		use(0, 0) // empty
		use(1, 5) // of a listener that is not logged
		use(0, 5)
		c, err := net.Dial("tcp", p.Addrs()[2].String()) // ends before its handshake
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		waitFor(t, "it has ended", func() bool { return p.Stats().Listeners[2].Ended[reasonOpeningClient].Count == 1 })
		_ = p.Close()
		text, err := os.ReadFile(path)
		if want := `{"by":"client","listener":"l"}` + "\n"; string(text) != want || err != nil {
			t.Errorf("got %q, %v, want %q", text, err, want)
		}
	})
}

// A plan with another access log applies it, and no line is lost; one whose log cannot be opened is refused.
func TestAccessLogChanges(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		go echo(ln)
		dir := t.TempDir()
		log := config.AccessLog{Path: filepath.Join(dir, "0"), Mode: 0o600, Fields: []string{"id"}}
		p := startLogged(t, ring, Backend{}, log, ln)
		stop, ended, n := make(chan struct{}), make(chan struct{}), 0
		var unlogged sync.Mutex // held while there is no log
		go func() {
			defer close(ended)
			for {
				select {
				case <-stop:
					return
				default:
				}
				unlogged.Lock()
				c, err := net.Dial("tcp", p.Addrs()[0].String())
				if err != nil {
					unlogged.Unlock()
					t.Error(err)
					return
				}
				_, _ = c.Write([]byte{1})
				_, _ = c.Read(make([]byte, 1))
				c.Close()
				n++
				unlogged.Unlock()
			}
		}()
		follow := func(log config.AccessLog) error {
			next := *p.Plan()
			next.AccessLog = log
			c, err := p.Prepare(&next, plan.Compare(p.Plan(), &next))
			if err == nil {
				c.Commit()
			}
			return err
		}
		for i := 1; i < 5; i++ {
			log.Path = filepath.Join(dir, fmt.Sprint(i))
			if i == 3 {
				log.Path = "" // for a while there is none
				unlogged.Lock()
			}
			if err := follow(log); err != nil {
				t.Error(err)
			}
			if i == 3 {
				log.Path = filepath.Join(dir, "3")
				if err := follow(log); err != nil {
					t.Error(err)
				}
				unlogged.Unlock()
			}
			time.Sleep(30 * time.Millisecond) // some connections end between two changes
		}
		log.Path = filepath.Join(dir, "nowhere", "log")
		if err := follow(log); err == nil || !strings.Contains(err.Error(), "access_log: open ") {
			t.Errorf("got %v", err)
		}
		// A plan that is not put in force leaves nothing open.
		next := *p.Plan()
		next.AccessLog.Path = filepath.Join(dir, "never")
		c, err := p.Prepare(&next, plan.Compare(p.Plan(), &next))
		if err != nil {
			t.Fatal(err)
		}
		c.Discard()
		close(stop)
		<-ended
		_ = p.Close()
		lines := 0
		for i := range 5 {
			text, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i)))
			if err != nil {
				t.Fatal(err)
			}
			lines += strings.Count(string(text), "\n")
		}
		if stats := p.Stats().AccessLog; uint64(lines) != stats.Lines || stats.Dropped != 0 || lines > n || lines < n*3/4 {
			t.Errorf("%d lines of %d connections; counted: %+v", lines, n, *stats)
		}
	})
}

// The record of a connection costs no allocation, and neither does its line.
func TestAccessLogDoesNotAllocate(t *testing.T) {
	ln := listen(t)
	log := config.AccessLog{Path: filepath.Join(t.TempDir(), "log"), Mode: 0o600}
	p := startLogged(t, reactor.Epoll, Backend{}, log, ln)
	c, s := pair(t, p, ln)
	swap(t, c, s, 1)
	p.on(func(w *worker) {
		first := w.conns.First()
		if first == nil {
			return
		}
		c := connOf(first)
		s := w.proxy.table.Load().listeners[0].settings.Load()
		line := func() {
			w.logRecords.Put(c.log)
			c.beginLogRecord(s, netip.AddrPort{})
			c.why = reasonNormal
			tcp := c.tcpInfo()
			c.countTCP(&tcp)
			c.logEnd(&tcp)
		}
		line()
		if n := testing.AllocsPerRun(100, line); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

// A line says why TLS has failed, with the client or with the server.
func TestAccessLogTLSCause(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ask := func(s *tlsSetup) { _, _ = s.visit(s.client) }
		say := func(text string) func(*tlsSetup) {
			return func(s *tlsSetup) {
				c := s.dialRaw()
				write(t, c, text)
				_ = c.CloseWrite()
				_, _ = io.Copy(io.Discard, c)
			}
		}
		for name, test := range map[string]struct {
			mode  tlsMode
			o     tlsOptions
			do    func(*tlsSetup)
			phase string
			cause any // nil: none
		}{
			"none":    {tlsMode{true, true}, tlsOptions{}, ask, "data", nil},
			"not TLS": {tlsMode{front: true}, tlsOptions{}, say("GET / HTTP/1.1\r\n\r\n"), "tls", "not_tls"},
			"closed":  {tlsMode{front: true}, tlsOptions{}, say("\x16"), "tls", "closed"},
			"no certificate": {tlsMode{front: true}, tlsOptions{listener: func(l *config.ServerTLS, ca *certstest.Authority) {
				l.ClientAuth, l.ClientCA = "require", ca.File
			}}, ask, "tls", "no_certificate"},
			"timeout": {tlsMode{front: true}, tlsOptions{listener: func(l *config.ServerTLS, _ *certstest.Authority) {
				l.HandshakeTimeout = soon
			}}, func(s *tlsSetup) {
				c := s.dialRaw()
				write(t, c, "\x16")
				_, _ = io.Copy(io.Discard, c)
			}, "tls", "timeout"},
			"server untrusted": {tlsMode{true, true}, tlsOptions{servers: func(c *config.ClientTLS, _ *certstest.Authority) {
				c.ServerName, c.CA = "proxy.test", certstest.New(t).File
			}}, ask, "tls_server", "untrusted"},
			"server's name": {tlsMode{true, true}, tlsOptions{servers: func(c *config.ClientTLS, _ *certstest.Authority) {
				c.ServerName = "other.test"
			}}, ask, "tls_server", "wrong_name"},
		} {
			s := startTLS(t, ring, test.mode, test.o)
			s.echo()
			next := *s.plan
			next.AccessLog = config.AccessLog{Path: filepath.Join(t.TempDir(), "log"), Mode: 0o600}
			change, err := s.p.prepareChange(&next)
			if err != nil {
				t.Fatal(err)
			}
			change.Commit()
			test.do(s)
			line := logged(t, next.AccessLog.Path, 1)[0]
			expectFields(t, line, map[string]any{"phase": test.phase, "tls_cause": test.cause})
			expectFailure(t, s.p, line)
			if t.Failed() {
				t.Fatal(name)
			}
		}
	})
}
