package cli

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHealth asks what answers as the daemon does, before, while and after it drains.
func TestHealth(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "alive\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "draining\n")
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	address := server.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	file := filepath.Join(t.TempDir(), "reactord.yaml")
	text := "metrics: 0.0.0.0:" + port + `
listeners: [{name: a, address: "127.0.0.1:1", backend: b}]
backends: [{name: b, servers: ["127.0.0.1:2"]}]
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	gone := httptest.NewServer(nil)
	nowhere := gone.Listener.Addr().String()
	gone.Close()

	for _, test := range []struct {
		args, environment string
		code              int
		said              string
	}{
		{"--live --address " + address, "", 0, "alive\n"},
		{"--live --address 0.0.0.0:" + port, "", 0, "alive\n"},
		{"--live", "REACTORD_METRICS=" + address, 0, "alive\n"},
		{"--live --config " + file, "", 0, "alive\n"},
		{"--address " + address, "http_proxy=http://127.0.0.1:1", 1,
			"reactord: http://" + address + "/readyz: 503 Service Unavailable: draining\n"},
		{"--address " + nowhere, "", 1, "reactord: http://" + nowhere + "/readyz: dial tcp " + nowhere +
			": connect: connection refused\n"},
		{"--config none.yaml", "", 1, "reactord: open none.yaml: no such file"},
		{"--address unix:///run/a", "", 2,
			"reactord: error: health: --address: unix:///run/a cannot be asked: write HOST:PORT"},
		{"--config a --address b:1", "", 2, "reactord: error: --address and --config can't be used together"},
	} {
		c := command(t, append([]string{"health"}, strings.Fields(test.args)...)...)
		c.Env = append(c.Env, test.environment)
		out, err := c.CombinedOutput()
		if code := c.ProcessState.ExitCode(); code != test.code || !strings.HasPrefix(string(out), test.said) {
			t.Errorf("health %s: code %d (%v), says %q; want %d, %q", test.args, code, err, out, test.code, test.said)
		}
	}
}
