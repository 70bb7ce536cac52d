package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
)

// linesOf is the lines of a file; none if it does not exist.
func linesOf(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")[:strings.Count(string(text), "\n")]
}

// The access log is renamed, opened anew on SIGUSR1, and shared by both processes of an upgrade: each connection has
// its line in one of the files.
func TestAccessLogRotates(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		log := filepath.Join(t.TempDir(), "access.log")
		path := writeConfig(t, reloadConfig(ring, "access_log: {path: "+log+"}", []string{"web=127.0.0.1:0"}, serve(t, echo)))
		g := generationsOf(t, startFile(t, path))
		n := 0
		use := func(p peer) {
			p.send([]byte("hello"))
			p.expect([]byte("hello"))
			p.finish()
			p.expectEOF()
			n++
		}
		use(dial(t, g.addr))
		stays := dial(t, g.addr)
		stays.send([]byte("a"))
		stays.expect([]byte("a"))
		eventually(t, "a line", func() bool { return len(linesOf(t, log)) == 1 })
		if err := os.Rename(log, log+".1"); err != nil {
			t.Fatal(err)
		}
		use(dial(t, g.addr))
		eventually(t, "a line in the old file", func() bool { return len(linesOf(t, log+".1")) == 2 })
		g.signal(syscall.SIGUSR1)
		g.await("access log reopened")
		use(dial(t, g.addr))
		eventually(t, "a line in the new file", func() bool { return len(linesOf(t, log)) == 1 })
		old := g.pid
		g.upgrade()
		use(dial(t, g.addr))
		use(stays) // of the old process
		g.awaitGone(old)
		g.end()
		all := slices.Concat(linesOf(t, log+".1"), linesOf(t, log))
		if len(all) != n || n != 5 {
			t.Errorf("%d lines of %d connections", len(all), n)
		}
		for _, text := range all {
			var l struct {
				Listener, By, Code string
				Bytes              int `json:"bytes_from_client"`
			}
			if err := json.Unmarshal([]byte(text), &l); err != nil || l.Listener != "web" || l.By != "normal" || l.Bytes < 5 {
				t.Errorf("%v: %s", err, text)
			}
		}
	})
}

// tcplog takes a line of HAProxy's `option tcplog` apart.
var tcplog = regexp.MustCompile(`^(\S+):(\d+) \[(\d\d/\w{3}/\d{4}(?::\d\d){3}\.\d{3})\] (\S+) ([^/ ]+/\S+) ` +
	`(-?\d+)/(-?\d+)/(\d+) (\d+) (\S\S) (\d+)/(\d+)/(\d+)/(\d+)/(\+?\d+) (\d+)/(\d+)(?: tls:[a-z_]+)?$`)

const haproxyLogs = `
global
	log %s format raw local0
defaults
	mode tcp
	option tcplog
	log global
	timeout connect 5s
	timeout client 300ms
	timeout server 300ms
	retries 0
listen web
	bind %s
	server one %s
`

// A line of the format tcplog says what HAProxy's says of the same connection: the same fields, backend, server, bytes
// and code, and times within what a busy machine adds.
func TestTCPLogIsHAProxys(t *testing.T) {
	program := need(t, "haproxy", "haproxy")
	for _, test := range []struct {
		name string
		to   func(t *testing.T) string
		use  func(p peer)

		refused bool
	}{
		{name: "normal", to: func(t *testing.T) string { return serve(t, echo) }, use: func(p peer) {
			p.send([]byte("hello"))
			p.expect([]byte("hello"))
			p.finish()
			p.expectEOF()
		}},
		{name: "reset of the client", to: func(t *testing.T) string { return serve(t, echo) }, use: func(p peer) {
			p.send([]byte("hello"))
			p.expect([]byte("hello"))
			p.reset()
		}},
		{name: "refused", to: testenv.Vacant, use: func(p peer) { p.expectGone() }, refused: true},
		{name: "idle", to: func(t *testing.T) string { return serve(t, echo) }, use: func(p peer) {
			p.send([]byte("hello"))
			p.expect([]byte("hello"))
			p.expectGone()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			to := test.to(t)
			his := haproxysLine(t, program, to, test.use)
			log := filepath.Join(t.TempDir(), "access.log")
			path := writeConfig(t, strings.Replace(reloadConfig("auto", "access_log: {format: tcplog, path: "+log+"}",
				[]string{"web=127.0.0.1:0"}, to), "name: b,", "name: b, retries: 0, idle_timeout: 300ms,", 1))
			d := startFile(t, path)
			if test.refused {
				turnedAway(t, d.addr) // the connection may be reset before it is used
			} else {
				test.use(dial(t, d.addr))
			}
			eventually(t, "a line", func() bool { return len(linesOf(t, log)) == 1 })
			ours := linesOf(t, log)[0]
			a, b := tcplog.FindStringSubmatch(his), tcplog.FindStringSubmatch(ours)
			if a == nil || b == nil {
				t.Fatalf("not a line:\n%s\n%s", his, ours)
			}
			t.Logf("\n%s\n%s", his, ours)
			// The client, the frontend, bytes, the code, connections, retries, queues.
			for _, i := range []int{1, 4, 9, 10, 11, 12, 13, 14, 15, 16, 17} {
				if a[i] != b[i] {
					t.Errorf("field %d is %q of HAProxy, and %q of ours", i, a[i], b[i])
				}
			}
			for _, i := range []int{6, 7, 8} { // times
				if strings.HasPrefix(a[i], "-") != strings.HasPrefix(b[i], "-") {
					t.Errorf("time %d is %q of HAProxy, and %q of ours", i, a[i], b[i])
				}
			}
			for i, text := range []string{a[3], b[3]} {
				at, err := time.ParseInLocation("02/Jan/2006:15:04:05.000", text, time.Local)
				if err != nil || time.Since(at).Abs() > time.Hour {
					t.Errorf("line %d: %v, %v", i, at, err)
				}
			}
		})
	}
}

// haproxysLine is what HAProxy logs of a connection.
func haproxysLine(t *testing.T, program, to string, use func(peer)) string {
	t.Helper()
	sink, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	addr := testenv.Vacant(t)
	config := filepath.Join(t.TempDir(), "haproxy.cfg")
	write(t, config, fmt.Sprintf(haproxyLogs, sink.LocalAddr(), addr, to))
	next := func() string {
		buf := make([]byte, 4096)
		_ = sink.SetReadDeadline(time.Now().Add(patience))
		for {
			n, _, err := sink.ReadFrom(buf)
			if err != nil {
				t.Fatal("HAProxy logs nothing: ", err)
			}
			if line := strings.TrimSpace(string(buf[:n])); tcplog.MatchString(line) { // else it is of HAProxy's start
				return line
			}
		}
	}
	launch(t, addr, program, "-db", "-f", config)
	use(dial(t, addr))
	return next()
}
