package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/reactord/reactord/internal/testenv"
)

// secured is a daemon whose metrics and admin API have TLS and ask for a password.
type secured struct {
	*authority
	file string // the web configuration file
	conf string // the configuration
	d    *daemon
	api  string // HOST:PORT
}

// webFile is a web configuration file with a user. clients is further lines of tls_server_config.
func (s *secured) webFile(user, password, clients string) string {
	s.t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		s.t.Fatal(err)
	}
	return fmt.Sprintf("tls_server_config:\n  cert_file: web.pem\n  key_file: web.pem\n%sbasic_auth_users:\n  %s: %s\n",
		clients, user, hash)
}

const requireClients = "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n"

func newSecured(t *testing.T) *secured {
	t.Helper()
	s := &secured{authority: newAuthority(t)}
	s.issue("web", "localhost")
	s.file = s.path("web.yml")
	replace(t, s.file, s.webFile("ops", "secret", ""))
	s.conf = writeConfig(t, fmt.Sprintf(`ring: epoll
loops: 1
metrics: {address: "127.0.0.1:0", web_config_file: %[1]s}
admin: {address: "tcp://127.0.0.1:0", web_config_file: %[1]s}
listeners:
  - {name: l, address: "tcp://127.0.0.1:0", backend: b}
backends:
  - {name: b, servers: ["tcp://127.0.0.1:1"]}
`, s.file))
	return s
}

func (s *secured) start() {
	s.t.Helper()
	s.d = startFile(s.t, s.conf)
	s.api = strings.TrimPrefix(s.d.await("admin").str("address"), "tcp://")
}

// answer is what a client has got.
type answer struct {
	code   int
	body   string
	serial string // of the server's certificate
}

// ask asks once, on a connection of its own. cert is the file of a client certificate, or "".
func (s *secured) ask(address, path, user, password, cert string) (answer, error) {
	s.t.Helper()
	ca, err := os.ReadFile(s.path("ca.pem"))
	if err != nil {
		s.t.Fatal(err)
	}
	c := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost"}
	c.RootCAs.AppendCertsFromPEM(ca)
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, cert)
		if err != nil {
			s.t.Fatal(err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	client := http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: c, DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "https://"+address+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if user != "" {
		r.SetBasicAuth(user, password)
	}
	got, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	return answer{got.StatusCode, string(text), got.TLS.PeerCertificates[0].SerialNumber.String()}, err
}

// expect fails the test unless the answer has a code, and a text in it.
func (s *secured) expect(code int, text, address, path, user, password, cert string) answer {
	s.t.Helper()
	got, err := s.ask(address, path, user, password, cert)
	if err != nil || got.code != code || !strings.Contains(got.body, text) {
		s.t.Errorf("%s as %s: %d %.200s (%v)", path, user, got.code, got.body, err)
	}
	return got
}

// awaitReady asks until the process is ready: its servers have been checked.
func (s *secured) awaitReady() {
	s.t.Helper()
	eventually(s.t, "/readyz answers 200", func() bool {
		got, err := s.ask(s.d.metrics, "/readyz", "ops", "secret", "")
		return err == nil && got.code == 200
	})
}

// ctl runs reactord ctl with variables.
func (s *secured) ctl(variables []string, args ...string) result {
	s.t.Helper()
	return runCommand(s.t, append(append(append([]string{"env"}, variables...), reactord, "ctl"), args...)...)
}

func TestWebConfig(t *testing.T) {
	s := newSecured(t)
	s.start()
	s.awaitReady()
	s.expect(200, "reactord_build_info", s.d.metrics, "/metrics", "ops", "secret", "")
	s.expect(200, "ready", s.d.metrics, "/readyz", "ops", "secret", "")
	s.expect(401, "Unauthorized", s.d.metrics, "/metrics", "ops", "wrong", "")
	s.expect(401, "Unauthorized", s.d.metrics, "/metrics", "other", "secret", "")
	s.expect(401, "Unauthorized", s.d.metrics, "/readyz", "", "", "")
	s.expect(200, `"phase"`, s.api, "/v1/status", "ops", "secret", "")
	s.expect(200, "<!doctype html>", s.api, "/", "ops", "secret", "")
	s.expect(401, "Unauthorized", s.api, "/v1/status", "", "", "")
	if got, err := http.Get("http://" + s.d.metrics + "/metrics"); err != nil || got.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %v, %v", got, err)
	} else {
		got.Body.Close()
	}

	// What is in the files is valid for the next client, without a reload.
	before := s.expect(200, "", s.d.metrics, "/readyz", "ops", "secret", "")
	s.issue("web", "localhost")
	replace(t, s.file, s.webFile("ops", "changed", requireClients))
	if _, err := s.ask(s.d.metrics, "/readyz", "ops", "changed", ""); err == nil ||
		!strings.Contains(err.Error(), "certificate required") {
		t.Errorf("without a client certificate: %v", err)
	}
	person := s.issue("person", "person.test")
	after := s.expect(200, "ready", s.d.metrics, "/readyz", "ops", "changed", person)
	if before.serial == after.serial {
		t.Error("the certificate that was replaced is used still")
	}
	s.expect(401, "Unauthorized", s.d.metrics, "/readyz", "ops", "secret", person)
	s.d.stop()
}

// A broken web file is refused with its reason, wherever it is read. The metrics are not open meanwhile.
func TestBrokenWebConfig(t *testing.T) {
	s := newSecured(t)
	good := s.webFile("ops", "secret", "")
	s.start()
	s.awaitReady() // it has read the file
	for _, test := range []struct{ text, want string }{
		{"tls_server_config: {cert_file: web.pem, kee_file: a}\n", "field kee_file not found"},
		{"tls_server_config: {cert_file: web.pem, key_file: no.pem}\n", "failed to read key_file"},
		{strings.ReplaceAll(good, "$2a$", "plain"), `the password of user "ops" is not a bcrypt hash`},
		{good + "http_server_config: {headers: {X-Other: a}}\n", `HTTP header "X-Other" can not be configured`},
		{"{", "did not find expected"},
	} {
		replace(t, s.file, test.text)
		for _, command := range []string{"check", "serve"} {
			r := run(t, command, "--config", s.conf)
			if place := s.conf + ":3:52: web_config_file "; r.code != 1 || !strings.Contains(r.stderr, test.want) ||
				!strings.Contains(r.stderr, place) || !strings.Contains(r.stderr, s.file) {
				t.Errorf("%s: %d %s, want %s%s", command, r.code, r.stderr, place, test.want)
			}
		}
		n := len(s.d.logged(func(l line) bool { return l.Msg == refusedReload }))
		s.d.signal(syscall.SIGHUP)
		lines := s.d.awaitLines(refusedReload, n+2) // for metrics and for admin
		if l := lines[n]; !strings.Contains(strings.ReplaceAll(l.raw, `\"`, `"`), test.want) {
			t.Errorf("%s, want %s", l.raw, test.want)
		}
		if got, err := s.ask(s.d.metrics, "/metrics", "", "", ""); err == nil && got.code == 200 {
			t.Errorf("with a broken file, everybody is let in: %q", test.text)
		}
	}
	replace(t, s.file, good)
	s.d.signal(syscall.SIGHUP)
	s.d.await("reloaded")
	s.expect(200, "reactord_config_last_reload_successful 1", s.d.metrics, "/metrics", "ops", "secret", "")
	s.d.stop()
}

func TestWebConfigOverUpgrade(t *testing.T) {
	s := newSecured(t)
	s.start()
	g := generationsOf(t, s.d)
	g.upgrade()
	s.expect(200, "reactord_build_info", s.d.metrics, "/metrics", "ops", "secret", "")
	s.expect(200, fmt.Sprintf(`"pid":%d`, g.pid), s.api, "/v1/status", "ops", "secret", "")
	s.expect(401, "", s.api, "/v1/status", "", "", "")
	g.end()
}

func TestCtlOverTLS(t *testing.T) {
	s := newSecured(t)
	s.start()
	_, port, _ := strings.Cut(s.api, ":")
	address, password := "https://localhost:"+port, s.path("password")
	replace(t, password, "secret\n")
	ca, person := s.path("ca.pem"), s.issue("person", "person.test")
	for _, test := range []struct {
		variables []string
		args      []string
		code      int
		want      string
	}{
		{nil, []string{"--address", address, "--cacert", ca, "--user", "ops", "--password-file", password}, 0, "serving"},
		{[]string{"REACTORD_ADMIN=" + address, "REACTORD_CACERT=" + ca, "REACTORD_USER=ops", "REACTORD_PASSWORD=secret"},
			nil, 0, "serving"},
		{[]string{"REACTORD_PASSWORD=wrong"}, []string{"--address", address, "--cacert", ca, "--user", "ops"}, 1,
			`rejects user "ops" with this password`},
		{nil, []string{"--address", address, "--cacert", ca}, 1, "requires a password: give --user"},
		{nil, []string{"--address", address}, 1, "give the trusted certificates by --cacert"},
		{nil, []string{"--address", "tcp://" + s.api}, 1, "speaks TLS: write https://HOST:PORT"},
		{nil, []string{"--address", address, "--user", "ops:secret"}, 2, "other users see command lines"},
		{nil, []string{"--address", address, "--password-file", password}, 2, "write --user, too"},
		{nil, []string{"--address", "unix:///a", "--cacert", ca}, 2, "certificates require https://HOST:PORT"},
		{nil, []string{"--address", address, "--cacert", s.file}, 2, "no certificate in PEM"},
		{nil, []string{"--address", address + "/a"}, 2, "write https://HOST:PORT"},
	} {
		r := s.ctl(test.variables, append(test.args, "status")...)
		if r.code != test.code || !strings.Contains(r.stdout+r.stderr, test.want) {
			t.Errorf("%v %v: %d %s%s, want %s", test.variables, test.args, r.code, r.stdout, r.stderr, test.want)
		}
	}
	replace(t, s.file, s.webFile("ops", "secret", requireClients))
	args := []string{"--address", address, "--cacert", ca, "--user", "ops", "--password-file", password, "status"}
	if r := s.ctl(nil, args...); r.code != 1 || !strings.Contains(r.stderr, "give one by --cert and --key") {
		t.Errorf("without a client certificate: %d %s", r.code, r.stderr)
	}
	for _, cert := range [][]string{{"--cert", person}, {"--cert", s.path("person.crt"), "--key", s.path("person.key")}} {
		if r := s.ctl(nil, append(cert, args...)...); r.code != 0 {
			t.Errorf("%v: %d %s", cert, r.code, r.stderr)
		}
	}
	s.d.stop()
}

// reactord health asks where there is TLS and a password, too, and finds out from the file that there is TLS.
func TestHealthOverTLS(t *testing.T) {
	s := newSecured(t)
	_, port, _ := net.SplitHostPort(testenv.Vacant(t))
	text, err := os.ReadFile(s.conf)
	if err != nil {
		t.Fatal(err)
	}
	replace(t, s.conf, strings.Replace(string(text), `"127.0.0.1:0", web`, `"0.0.0.0:`+port+`", web`, 1))
	s.start()
	address, password := "https://localhost:"+port, s.path("password")
	replace(t, password, "secret\n")
	ca, other, person := s.path("ca.pem"), newAuthority(t).path("ca.pem"), s.issue("person", "person.test")
	login := []string{"--user", "ops", "--password-file", password}
	for _, test := range []struct {
		variables, args []string
		code            int
		want            string
	}{
		{nil, append(login, "--config", s.conf), 0, "ready"},
		{nil, append(login, "--config", s.conf, "--live"), 0, "alive"},
		{nil, append(login, "--config", s.conf, "--cacert", ca), 0, "ready"},
		{nil, append(login, "--config", s.conf, "--cacert", other), 1, "certificate signed by unknown authority"},
		{nil, append(login, "--address", address, "--cacert", ca), 0, "ready"},
		{[]string{"REACTORD_METRICS=" + address, "REACTORD_CACERT=" + ca, "REACTORD_USER=ops", "REACTORD_PASSWORD=secret"},
			nil, 0, "ready"},
		{nil, append(login, "--address", address), 1, "give the trusted certificates by --cacert"},
		{nil, append(login, "--address", "127.0.0.1:"+port), 1, "speaks TLS: write https://HOST:PORT"},
		{nil, append(login, "--address", "192.0.2.1:9090"), 1, "plain HTTP requires a loopback address"},
		{nil, []string{"--config", s.conf}, 1, "requires a password: give --user"},
		{nil, []string{"--config", s.conf, "--user", "ops:secret"}, 2, "other users see command lines"},
		{[]string{"REACTORD_PASSWORD=wrong"}, []string{"--config", s.conf, "--user", "ops"}, 1,
			`rejects user "ops" with this password`},
	} {
		r := s.health(test.variables, test.args...)
		if r.code != test.code || !strings.Contains(r.stdout+r.stderr, test.want) {
			t.Errorf("%v %v: %d %s%s, want %s", test.variables, test.args, r.code, r.stdout, r.stderr, test.want)
		}
	}
	replace(t, s.file, s.webFile("ops", "secret", requireClients))
	args := append(login, "--config", s.conf)
	if r := s.health(nil, args...); r.code != 1 || !strings.Contains(r.stderr, "give one by --cert and --key") {
		t.Errorf("without a client certificate: %d %s", r.code, r.stderr)
	}
	if r := s.health(nil, append(args, "--cert", person)...); r.code != 0 || r.stdout != "ready\n" {
		t.Errorf("with a client certificate: %d %s%s", r.code, r.stdout, r.stderr)
	}
	s.d.stop()
}

// health runs reactord health with variables.
func (s *secured) health(variables []string, args ...string) result {
	s.t.Helper()
	return runCommand(s.t, append(append(append([]string{"env"}, variables...), reactord, "health"), args...)...)
}

// The admin API is on an address that other machines reach only if its web file asks who they are.
func TestAdminForOtherMachines(t *testing.T) {
	s := newSecured(t)
	good := s.webFile("ops", "secret", "")
	open, _, _ := strings.Cut(good, "basic_auth_users")
	for _, test := range []struct {
		setting, text string
		code          int
		want          string
	}{
		{"", good, 1, "write web_config_file, too, with TLS and users"},
		{", web_config_file: " + s.file, good, 0, "ok"},
		{", web_config_file: " + s.file, open, 1, "without authentication"},
		{", web_config_file: " + s.file, "", 1, "without TLS"},
	} {
		replace(t, s.file, test.text)
		replace(t, s.conf, fmt.Sprintf("admin: {address: 'tcp://192.0.2.1:1'%s}\nlisteners:\n"+
			"  - {name: l, address: 'tcp://127.0.0.1:0', backend: b}\nbackends:\n"+
			"  - {name: b, servers: ['tcp://127.0.0.1:1']}\n", test.setting))
		r := run(t, "check", "--config", s.conf)
		if r.code != test.code || !strings.Contains(r.stdout+r.stderr, test.want) {
			t.Errorf("%s with %q: %d %s%s", test.setting, test.text, r.code, r.stdout, r.stderr)
		}
	}
}
