package main

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/internal/testenv"
)

// say sends text over c, and expects it back.
func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	got := make([]byte, len(text))
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("echoed %q, %v", got, err)
	}
}

func dial(t *testing.T, network, address string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout(network, address, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// datagrams is a server that sends back each datagram.
func datagrams(t *testing.T) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, 2048)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(buf[:n], from)
		}
	}()
	t.Cleanup(func() {
		c.Close()
		<-ended
	})
	return c.LocalAddr().String()
}

// The numbers are those of what has happened, and no series begins to exist by it.
func TestSeriesOfTraffic(t *testing.T) {
	authority := certstest.New(t)
	cert := authority.Issue("a", certstest.Key(t), time.Hour, "a.example")
	list := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(list, fmt.Appendf(nil, `[{"targets": [%q]}]`, echo(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`metrics: {address: 127.0.0.1:0, detail: full}
loops: 2
listeners:
- {name: web, backend: app, address: 127.0.0.1:0}
- {name: dead, backend: gone, address: 127.0.0.1:0}
- {name: safe, backend: app, address: 127.0.0.1:0, tls: {certificates: [{cert: %s}]}}
- {name: dns, backend: names, address: 'udp://127.0.0.1:0'}
backends:
- name: app
  files: [{path: %s}]
- name: gone
  retries: 0
  servers: [{address: %s, name: closed}]
- name: names
  servers: [{address: %s, name: ns}]
- name: spare
  servers: [{address: 192.0.2.1:1, name: first}, {address: 192.0.2.2:1, name: second}]
`, cert, list, testenv.Vacant(t), datagrams(t))
	s := scrapedWith(t, text)
	before := identities(t, s)

	for range 3 {
		c := dial(t, "tcp", s.listeners["web"])
		say(t, c, "hello")
		c.Close()
	}
	if c, err := net.Dial("tcp", s.listeners["dead"]); err == nil { // else it was reset already
		_, _ = io.ReadAll(c)
		c.Close()
	}
	shake(t, s.listeners["safe"], authority)
	for range 2 {
		say(t, dial(t, "udp", s.listeners["dns"]), "query")
	}
	s.expect(t,
		`reactord_listener_connections_total{listener="web"} 3`,
		`reactord_connections_closed_total{listener="web",phase="data",term_by="normal"} 3`,
		`reactord_connection_duration_seconds_count{listener="web"} 3`,
		`reactord_connection_first_byte_seconds_count{listener="web"} 3`,
		`reactord_connection_first_byte_seconds_bucket{listener="web",le="3600"} 3`,
		`reactord_connection_first_byte_seconds_count{listener="dead"} 0`,
		`reactord_connection_first_byte_seconds_count{listener="dns"} 2`,
		`reactord_listener_receive_bytes_total{listener="web"} 15`,
		`reactord_listener_transmit_bytes_total{listener="web"} 15`,
		`reactord_listener_info{listener="dns",network="udp"} 1`,
		`reactord_listener_info{listener="web",network="tcp"} 1`,
		`reactord_backend_no_server_total{backend="gone"} 1`,
		`reactord_backend_no_server_total{backend="app"} 0`,
		`reactord_backend_servers{backend="spare",state="up"} 2`,
		`reactord_backend_servers{backend="spare",state="down"} 0`,
		`reactord_server_connect_failures_total{backend="gone",reason="refused",server="closed"} 1`,
		`reactord_server_connect_duration_seconds_count{backend="gone"} 0`,
		`reactord_listener_tls_handshakes_total{listener="safe",result="full",version="1.3"} 1`,
		`reactord_listener_tls_handshakes_total{listener="safe",result="resumed",version="1.3"} 1`,
		`reactord_listener_tls_handshakes_total{listener="safe",result="failed",version="none"} 1`,
		`reactord_listener_tls_handshakes_total{listener="safe",result="timeout",version="none"} 0`,
		`reactord_udp_sessions{listener="dns"} 2`,
		`reactord_udp_sessions_total{listener="dns"} 2`,
		`reactord_listener_receive_datagrams_total{listener="dns"} 2`,
		`reactord_tls_ticket_keys 1`,
		`reactord_log_dropped_total 0`,
		`reactord_plan_overrides 0`,
		`reactord_discovery_servers{backend="app",source="file `+list+`"} 1`,
		`reactord_discovery_successful{backend="app",source="file `+list+`"} 1`,
		`reactord_discovery_last_failure_timestamp_seconds{backend="app",source="file `+list+`"} 0`,
		`reactord_state{state="serving"} 1`,
		`reactord_state{state="draining"} 0`,
	)
	if diff := cmp.Diff(before, identities(t, s)); diff != "" {
		t.Errorf("traffic has changed which series there are:\n%s", diff)
	}
	reloads(t, s, text)
}

// shake makes a full handshake, one that resumes it, and one that fails.
func shake(t *testing.T, address string, authority *certstest.Authority) {
	t.Helper()
	config := &tls.Config{
		RootCAs: authority.Pool, ServerName: "a.example", ClientSessionCache: tls.NewLRUClientSessionCache(1),
	}
	for range 2 {
		c := tls.Client(dial(t, "tcp", address), config)
		say(t, c, "hello")
		c.Close()
	}
	c := dial(t, "tcp", address)
	fmt.Fprint(c, "GET / HTTP/1.0\r\n\r\n")
	_, _ = io.ReadAll(c)
}

// reloads checks what a reload changes: a server that has left has no series, and what stays keeps its counters.
func reloads(t *testing.T, s *scraped, text string) {
	t.Helper()
	hash := s.families(t)["reactord_config_info"].Metric[0].Label[0].GetValue()
	printed, err := command(t, "config", "-c", s.file()).Output()
	if want := sha256Of(string(printed)); err != nil || hash != want {
		t.Errorf("the hash is %s, that of the file's settings is %s (%v)", hash, want, err)
	}
	if !strings.Contains(s.page(t), `server="second"`) {
		t.Error("a server has no series")
	}
	s.write(t, strings.Replace(text, ", {address: 192.0.2.2:1, name: second}", "", 1))
	if err := s.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.expect(t, `reactord_config_reloads_total{result="success"} 1`, `reactord_plan_revision 2`,
		`reactord_config_last_reload_successful 1`, `reactord_backend_servers{backend="spare",state="up"} 1`)
	page := s.page(t)
	if strings.Contains(page, `server="second"`) || !strings.Contains(page, `server="first"`) {
		t.Error("the series are not those of the servers that are left")
	}
	if strings.Contains(page, hash) {
		t.Error("the hash has not changed")
	}
	s.expect(t, `reactord_listener_connections_total{listener="web"} 3`,
		`reactord_connection_first_byte_seconds_count{listener="web"} 3`,
		`reactord_server_connect_failures_total{backend="gone",reason="refused",server="closed"} 1`)
	s.write(t, "nonsense: 1\n")
	if err := s.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.expect(t, `reactord_config_reloads_total{result="failure"} 1`, `reactord_config_last_reload_successful 0`,
		`reactord_plan_revision 2`)
}

// A Prometheus that asks for protobuf gets each histogram in both forms.
func TestNativeHistograms(t *testing.T) {
	s := scrapedWith(t, everything.yaml(t))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.metrics, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	histograms := 0
	for decode := expfmt.NewDecoder(answer.Body, expfmt.ResponseFormat(answer.Header)); ; {
		var f dto.MetricFamily
		if err := decode.Decode(&f); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if f.GetType() != dto.MetricType_HISTOGRAM || !strings.HasPrefix(f.GetName(), "reactord_") {
			continue
		}
		histograms++
		for _, m := range f.Metric {
			if h := m.GetHistogram(); h.Schema == nil || h.GetZeroThreshold() == 0 || len(h.Bucket) == 0 {
				t.Errorf("%s is %v", f.GetName(), h)
			}
		}
	}
	if histograms < 5 {
		t.Errorf("there are %d histograms", histograms)
	}
}

// sha256Of is the hash of settings that reactord config has printed, without the comments.
func sha256Of(printed string) string {
	var plain strings.Builder
	for line := range strings.Lines(printed) {
		text, _, _ := strings.Cut(line, " # ")
		plain.WriteString(strings.TrimSuffix(text, "\n") + "\n")
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(plain.String())))
}
