package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
)

// misfortune is a failure that hits one connection in a hundred. It is the name of its listener.
type misfortune struct {
	name    string
	backend string                // settings of its backend, whose servers have the weights 99 and 1
	server  string                // the address of the server with the weight 1; "": there is none
	front   string                // settings of its listener
	secure  bool                  // clients speak TLS
	fail    func(s *trial, n int) // has n connections fail; nil: those that the bad server gets

	// How it shows: the fields of a failure in the snapshot of the page, and a series with labels.
	reason, phase, code, cause, at string // at is the server; "": none was chosen
	series                         string
	labels                         []string
}

// trial is a daemon on which the misfortunes happen, one at a time.
type trial struct {
	t      *testing.T
	daemon *daemon
	addr   map[string]string
	trust  *tls.Config
	log    string
}

// room is how many connections the listener may have whose limit is exceeded. Those that have just ended may count.
const room = 20

// badly is how many connections fail, of a hundred times as many.
const badly = 2

// TestToldApart has each failure of the runbook hit one connection in a hundred of its listener. The runbook's search
// in a log in the format tcplog finds the connections of that failure and no others; the page names the listener, the
// backend, the server, the reason and the share; and the metric of the runbook counts them.
func TestToldApart(t *testing.T) {
	awk := need(t, "awk", "mawk")
	a := newAuthority(t)
	all := misfortunes(t, a)
	s := startTrial(t, a, all)
	for i := range all {
		began := time.Now()
		s.play(&all[i])
		t.Logf("%s took %v", all[i].name, time.Since(began))
	}
	const lines = 100 * badly
	eventually(t, "all lines are written", func() bool { return len(linesOf(t, s.log)) >= len(all)*lines })

	searches := searchesOfRunbook(t)
	for i := range all {
		m := &all[i]
		search, ok := searches[m.name]
		if !ok {
			t.Errorf("the runbook has no search for %q", m.name)
			continue
		}
		delete(searches, m.name)
		out, err := exec.Command(awk, search, s.log).Output()
		if err != nil {
			t.Fatal(err)
		}
		found := strings.Split(strings.TrimSpace(string(out)), "\n")
		for _, line := range found {
			if !strings.Contains(line, "] "+m.name+" ") && !strings.Contains(line, "] "+m.name+"~ ") {
				t.Errorf("the search for %q finds %s", m.name, line)
			}
		}
		if len(found) != badly {
			t.Errorf("the search for %q finds %d lines of %d:\n%s", m.name, len(found), badly, out)
		}
		if n := s.daemon.scrape().sum(m.series, m.labels...); n != badly {
			t.Errorf("%s: %s%v is %v, want %d", m.name, m.series, m.labels, n, badly)
		}
	}
	for name := range searches {
		t.Errorf("the runbook's search for %q was not tried", name)
	}
	s.expectPage(all)
	s.picture()
}

// picture takes pictures of the page if a directory for them is named. docs/status.png is status-1400.png.
func (s *trial) picture() {
	s.t.Helper()
	if os.Getenv("REACTORD_E2E_SCREENSHOTS") == "" {
		return
	}
	b := startBrowser(s.t)
	for _, width := range []int{1400, 390} {
		b.show(width, 900, "light")
		b.open("http://" + strings.TrimPrefix(s.daemon.await("admin").str("address"), "tcp://") + "/")
		b.await("failures are shown", "document.body.textContent.includes('untrusted')")
		b.await("rates are shown", "Number.parseFloat("+tile("New connections")+") >= 0")
		b.screenshot(fmt.Sprintf("failures-%d", width))
		b.screenshotOfTop(fmt.Sprintf("status-%d", width), width, 1450)
	}
}

// misfortunes returns those of the table in the runbook.
func misfortunes(t *testing.T, a *authority) []misfortune {
	other := newAuthority(t)
	closed := "reactord_connections_closed_total"
	return []misfortune{
		{name: "refused", server: testenv.Vacant(t), reason: "server", phase: "connect", code: "SC", at: "bad",
			series: "reactord_server_connect_failures_total", labels: []string{"server=bad", "reason=refused"}},
		{name: "silent-host", server: blackHole(t), backend: "connect_timeout: 200ms,",
			reason: "connect_timeout", phase: "connect", code: "sC", at: "bad",
			series: "reactord_server_connect_failures_total", labels: []string{"server=bad", "reason=timeout"}},
		{name: "silent-server", server: serve(t, silent), backend: "idle_timeout: 2s,",
			reason: "idle_timeout", phase: "data", code: "sD", at: "bad",
			series: closed, labels: []string{"listener=silent-server", "term_by=idle_timeout"}},
		{name: "queue-full", backend: "max_connections: 1, queue: {size: 1},", fail: (*trial).overflow,
			reason: "queue_full", phase: "queue", code: "PQ",
			series: "reactord_backend_queue_refused_total", labels: []string{"backend=queue-full"}},
		{name: "client-tls", front: ", tls: {certificates: [{cert: '" + a.issue("front", "proxy.test") + "'}]}",
			secure: true, fail: (*trial).speakPlain,
			reason: "client", phase: "tls", code: "CR", cause: "not_tls",
			series: "reactord_listener_tls_handshakes_total", labels: []string{"listener=client-tls", "result=failed"}},
		{name: "server-tls", server: serveTLS(t, other.issue("bad", "proxy.test")),
			backend: "tls: {enabled: true, ca: '" + a.path("ca.pem") + "', server_name: proxy.test},",
			reason:  "server", phase: "tls_server", code: "SC", cause: "untrusted", at: "bad",
			series: "reactord_backend_tls_handshakes_total", labels: []string{"backend=server-tls", "result=failed"}},
		{name: "client-reset", fail: (*trial).resetAll,
			reason: "client", phase: "data", code: "CD", at: "good",
			series: closed, labels: []string{"listener=client-reset", "term_by=client", "phase=data"}},
		{name: "limit", front: fmt.Sprintf(", max_connections: %d, on_limit: reject", room), fail: (*trial).exceed,
			reason: "limit", phase: "accept", code: "PR",
			series: "reactord_listener_rejected_total", labels: []string{"listener=limit", "reason=limit"}},
	}
}

func startTrial(t *testing.T, a *authority, all []misfortune) *trial {
	t.Helper()
	s := &trial{t: t, addr: map[string]string{}, log: filepath.Join(t.TempDir(), "access.log")}
	plain, secured := serve(t, echo), serveTLS(t, a.issue("good", "proxy.test"))
	var b strings.Builder
	b.WriteString("loops: 1\nmetrics: {address: 127.0.0.1:0, detail: full}\n")
	fmt.Fprintf(&b, "admin: {address: 'tcp://%s'}\n", testenv.Vacant(t))
	fmt.Fprintf(&b, "access_log: {format: tcplog, path: '%s', refused: 1000}\nlisteners:\n", s.log)
	for _, m := range all {
		fmt.Fprintf(&b, "- {name: %s, address: 'tcp://127.0.0.1:0', backend: %s%s}\n", m.name, m.name, m.front)
	}
	b.WriteString("backends:\n")
	for _, m := range all {
		good, bad := plain, ""
		if m.name == "server-tls" {
			good = secured
		}
		if m.server != "" {
			bad = fmt.Sprintf(", {name: bad, address: 'tcp://%s', weight: 1}", m.server)
		}
		fmt.Fprintf(&b, "- {name: %s, retries: 0, ejection: {failures: 0}, balance: {policy: round_robin}, %s "+
			"servers: [{name: good, address: 'tcp://%s', weight: 99}%s]}\n", m.name, m.backend, good, bad)
	}
	s.daemon = startFile(t, writeConfig(t, b.String()))
	s.daemon.await("admin")
	for _, l := range s.daemon.logged(func(l line) bool { return l.Msg == "listening" }) {
		s.addr[l.str("listener")] = l.str("address")
	}
	pem, err := os.ReadFile(a.path("ca.pem"))
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(pem) {
		t.Fatal("no authority: ", err)
	}
	s.trust = &tls.Config{ServerName: "proxy.test", RootCAs: pool}
	return s
}

// play has good connections, of which the bad server gets its share, or then the bad ones.
func (s *trial) play(m *misfortune) {
	s.t.Helper()
	n := 100 * badly
	if m.fail != nil {
		n -= badly
		if m.name == "queue-full" {
			n -= 2 // those that fill the backend and its queue
		} else if m.name == "limit" {
			n -= room
		}
	}
	for range n {
		s.visit(m)
	}
	if m.fail != nil {
		m.fail(s, badly)
	}
}

// visit makes a connection that says a byte, and reads the answer until the end. It may fail.
func (s *trial) visit(m *misfortune) {
	c, err := net.DialTimeout("tcp", s.addr[m.name], patience)
	if err != nil {
		return // it is reset before this is noticed
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	if m.secure {
		c = tls.Client(c, s.trust)
	}
	if _, err := c.Write([]byte("x")); err != nil {
		return
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		return
	}
	_ = c.(interface{ CloseWrite() error }).CloseWrite()
	_, _ = io.Copy(io.Discard, c)
}

// overflow fills the only place and the queue, and then comes too late.
func (s *trial) overflow(n int) {
	at := s.addr["queue-full"]
	first := dial(s.t, at)
	first.send([]byte("x"))
	first.expect([]byte("x"))
	second := dial(s.t, at)
	eventually(s.t, "one waits", func() bool {
		return s.daemon.scrape().sum("reactord_backend_queue_length", "backend=queue-full") == 1
	})
	for range n {
		knock(s.t, at)
	}
	first.finish()
	first.expectEOF()
	second.send([]byte("x"))
	second.expect([]byte("x"))
	second.finish()
	second.expectEOF()
}

func (s *trial) speakPlain(n int) {
	for range n {
		p := dial(s.t, s.addr["client-tls"])
		p.send([]byte("GET / HTTP/1.1\r\n\r\n"))
		_, _ = io.Copy(io.Discard, p)
	}
}

func (s *trial) resetAll(n int) {
	for range n {
		p := dial(s.t, s.addr["client-reset"])
		p.send([]byte("x"))
		p.expect([]byte("x"))
		p.reset()
	}
}

// exceed keeps as many connections as the listener may have, and makes more.
func (s *trial) exceed(n int) {
	eventually(s.t, "no connection counts any more", func() bool {
		return s.daemon.scrape().sum("reactord_listener_connections", "listener=limit") == 0
	})
	var kept []peer
	for range room {
		p := dial(s.t, s.addr["limit"])
		p.send([]byte("x"))
		p.expect([]byte("x"))
		kept = append(kept, p)
	}
	for range n {
		knock(s.t, s.addr["limit"])
	}
	for _, p := range kept {
		p.finish()
		p.expectEOF()
	}
}

// expectPage compares what the page shows.
func (s *trial) expectPage(all []misfortune) {
	s.t.Helper()
	admin := "http://" + strings.TrimPrefix(s.daemon.await("admin").str("address"), "tcp://")
	type failing struct {
		Listener, Backend, Server, Reason, Phase, Code string
		Cause                                          string `json:"tls_cause"`
		Count, Recent                                  int
		Share                                          float64
		Last                                           time.Time
	}
	read := func() (found []failing) {
		answer, err := http.Get(admin + "/v1/snapshot")
		if err != nil {
			s.t.Fatal(err)
		}
		defer answer.Body.Close()
		var body struct{ Failing []failing }
		if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
			s.t.Fatal(err)
		}
		return body.Failing
	}
	eventually(s.t, "the page names all failures", func() bool { return len(read()) >= len(all) })
	found := read()
	for _, m := range all {
		n := 0
		for _, f := range found {
			if f.Listener != m.name {
				continue
			}
			n++
			backend := m.name
			if m.phase == "accept" || m.phase == "tls" {
				backend = ""
			}
			if f.Backend != backend || f.Server != m.at || f.Reason != m.reason || f.Phase != m.phase || f.Code != m.code ||
				f.Cause != m.cause || f.Count != badly {
				s.t.Errorf("%s shows as %+v", m.name, f)
			}
			if f.Recent > badly || (f.Recent > 0) != (f.Share > 0) {
				s.t.Errorf("%s: %d recent ones are a share of %v", m.name, f.Recent, f.Share)
			}
			s.t.Logf("%-14s %.2f %% of the last minute", m.name, 100*f.Share)
		}
		if n != 1 {
			s.t.Errorf("%s shows %d times: %+v", m.name, n, found)
		}
	}
	if len(found) != len(all) {
		s.t.Errorf("%d failures are shown: %+v", len(found), found)
	}
}

// searchOfRunbook is a search of the section in the runbook, with the name of the failure in front.
var searchOfRunbook = regexp.MustCompile(`(?m)^awk '([^']+)' access\.log +# ([a-z-]+)`)

func searchesOfRunbook(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, m := range searchOfRunbook.FindAllStringSubmatch(string(text), -1) {
		all[m[2]] = m[1]
	}
	return all
}

// serveTLS is a server that echoes over TLS, with the certificate in a file.
func serveTLS(t *testing.T, file string) string {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(file, file)
	if err != nil {
		t.Fatal(err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{cert}}
	return serve(t, func(inner *net.TCPConn) {
		c := tls.Server(inner, c)
		_, _ = io.Copy(c, c)
		_ = c.CloseWrite()
	})
}
