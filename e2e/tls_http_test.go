package e2e

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
)

// curl and h2load speak HTTP/1.1 and HTTP/2 over TLS that ends at the daemon, with a server that has none.
func TestTLSWithHTTP(t *testing.T) {
	curl, h2load := need(t, "curl", "curl"), need(t, "h2load", "nghttp2-client")
	onEachRing(t, func(t *testing.T, ring string) {
		a := newAuthority(t)
		cert := a.issue("proxy", "proxy.test")
		path := filepath.Join(t.TempDir(), "reactord.yaml")
		replace(t, path, tlsConfig(ring, "", "certificates: [{cert: "+cert+"}], alpn: [h2, http/1.1]", httpServer(t)))
		d := startFile(t, path)
		_, port, _ := net.SplitHostPort(d.addr)
		for _, args := range []string{
			"--http1.1 --tls-max 1.2", "--http1.1 --tlsv1.3", "--http2 --tls-max 1.2", "--http2 --tlsv1.3",
		} {
			r := runCommand(t, append([]string{curl, "-sS", "--max-time", "10", "--cacert", a.path("ca.pem"),
				"--resolve", "proxy.test:" + port + ":127.0.0.1", "-d", "question",
				"-w", " %{http_version} %{http_code}", "https://proxy.test:" + port + "/"}, strings.Fields(args)...)...)
			want := "question 1.1 200"
			if strings.HasPrefix(args, "--http2") {
				want = "question 2 200"
			}
			if r.code != 0 || r.stdout != want {
				t.Errorf("curl %s: %q, %s", args, r.stdout, r.stderr)
			}
		}
		for _, args := range []string{"", "--h1"} {
			r := runCommand(t, append([]string{h2load, "-n", "2000", "-c", "20", "-m", "10", "--connect-to", d.addr,
				"https://proxy.test:" + port + "/"}, strings.Fields(args)...)...)
			if r.code != 0 || !strings.Contains(r.stdout, "2000 succeeded, 0 failed, 0 errored, 0 timeout") {
				t.Errorf("h2load %s: %s, %s", args, r.stdout, r.stderr)
			}
		}
		d.stop()
	})
}

// httpServer answers with what is asked, over HTTP/1.1 and HTTP/2 without TLS, and is its address.
func httpServer(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }),
	}
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(ln) }()
	t.Cleanup(func() { _ = server.Close() })
	return ln.Addr().String()
}

// A client that sends early data, with a session of another server that took it, is refused: no server is connected.
func TestTLSEarlyData(t *testing.T) {
	a := newAuthority(t)
	cert, session, early := a.issue("proxy", "proxy.test"), a.path("session"), a.path("early")
	other := testenv.Vacant(t)
	server := exec.CommandContext(t.Context(), a.openssl, "s_server", "-accept", other, "-cert", cert, "-tls1_3",
		"-early_data", "-quiet")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	eventually(t, "a session that allows early data is written", func() bool {
		a.client(&daemon{addr: other}, "hello\n", "Max Early Data: 16384", "-tls1_3", "-sess_out", session)
		_, err := os.Stat(session)
		return err == nil
	})

	upstream := listen(t)
	path := filepath.Join(t.TempDir(), "reactord.yaml")
	log := filepath.Join(t.TempDir(), "log")
	replace(t, path, tlsConfig("auto", "access_log: {path: "+log+"}", "certificates: [{cert: "+cert+"}]", upstream.addr()))
	d := startFile(t, path)
	replace(t, early, "early data")
	const want = "Early data was rejected"
	if out := a.client(d, "", want, "-tls1_3", "-sess_in", session, "-early_data", early); !strings.Contains(out, want) {
		t.Errorf("%q is missing in\n%s", want, out)
	}
	_ = upstream.SetDeadline(time.Now().Add(50 * time.Millisecond))
	if c, err := upstream.Accept(); err == nil {
		c.Close()
		t.Error("the server is connected")
	}
	// The line of a handshake that has failed says whom the client has asked for.
	eventually(t, "the line of the connection is written", func() bool {
		line, _ := os.ReadFile(log)
		return strings.Contains(string(line), `"sni":"proxy.test"`) && strings.Contains(string(line), "unexpected early data")
	})
	d.stop()
}
