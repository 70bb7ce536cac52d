package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// authority makes certificates with openssl.
type authority struct {
	t       *testing.T
	openssl string
	dir     string
	serial  int
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, openssl: need(t, "openssl", "openssl"), dir: t.TempDir()}
	a.run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
		"-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
	return a
}

// run runs openssl in the directory, and returns its output.
func (a *authority) run(args ...string) string {
	a.t.Helper()
	r := runCommand(a.t, append([]string{"sh", "-c", `cd "$0" && exec "$@"`, a.dir, a.openssl}, args...)...)
	if r.code != 0 {
		a.t.Fatalf("openssl %v: %s", args, r.stderr)
	}
	return r.stdout
}

// path is the path of a file of the authority.
func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// issue writes a certificate with its key into one file, as a single replacement.
func (a *authority) issue(name string, names ...string) (path string) {
	a.t.Helper()
	a.serial++
	a.run("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN="+name,
		"-keyout", name+".key", "-out", name+".csr")
	replace(a.t, a.path("ext"), "subjectAltName=DNS:"+strings.Join(names, ",DNS:")+"\n")
	a.run("x509", "-req", "-in", name+".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "1",
		"-set_serial", fmt.Sprint(a.serial), "-extfile", "ext", "-out", name+".crt")
	var text []byte
	for _, part := range []string{name + ".crt", name + ".key"} {
		b, err := os.ReadFile(a.path(part))
		if err != nil {
			a.t.Fatal(err)
		}
		text = append(text, b...)
	}
	replace(a.t, a.path(name+".pem"), string(text))
	return a.path(name + ".pem")
}

// served returns the serial number of the certificate that clients get.
func (a *authority) served(d *daemon) string {
	a.t.Helper()
	out := a.client(d, "", "Verify return code", "-showcerts")
	_, text, _ := strings.Cut(out, "-----BEGIN CERTIFICATE-----")
	text, _, _ = strings.Cut(text, "-----END CERTIFICATE-----")
	replace(a.t, a.path("seen"), "-----BEGIN CERTIFICATE-----"+text+"-----END CERTIFICATE-----\n")
	return strings.TrimSpace(a.run("x509", "-in", "seen", "-noout", "-serial"))
}

// tlsConfig is a file with one listener that ends TLS.
func tlsConfig(ring, settings, tls, server string) string {
	return fmt.Sprintf("ring: %s\nmetrics: {address: 127.0.0.1:0, detail: full}\n"+
		"admin: {address: 'tcp://127.0.0.1:0'}\n%s\nlisteners:\n"+
		"  - name: l\n    address: tcp://127.0.0.1:0\n    backend: b\n    tls: {%s}\nbackends:\n"+
		"  - {name: b, servers: ['tcp://%s']}\n", ring, settings, tls, server)
}

// client runs openssl s_client against the daemon. input is what it sends, line by line; it ends when it has printed
// until, or exits.
func (a *authority) client(d *daemon, input, until string, args ...string) string {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.openssl, append([]string{
		"s_client", "-connect", d.addr, "-servername", "proxy.test", "-CAfile", a.path("ca.pem"), "-verify_return_error",
	}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	out := &lockedText{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	for _, line := range strings.SplitAfter(input, "\n") {
		time.Sleep(100 * time.Millisecond) // s_client takes a command only at the beginning of what it reads
		_, _ = io.WriteString(in, line)
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		select {
		case <-ended:
			return out.String()
		default:
		}
		if until != "" && strings.Contains(out.String(), until) {
			break
		}
	}
	_ = in.Close()
	cancel()
	<-ended
	return out.String()
}

// A matrix of what openssl does with a listener that ends TLS.
func TestTLSWithOpenSSL(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		a := newAuthority(t)
		cert := a.issue("proxy", "proxy.test", "*.wild.test")
		path := filepath.Join(t.TempDir(), "reactord.yaml")
		replace(t, path, tlsConfig(ring, "", "certificates: [{cert: "+cert+"}], alpn: [h2, http/1.1]", serve(t, echo)))
		d := startFile(t, path)
		var all sync.WaitGroup
		for _, test := range []struct {
			name, input, want string
			args              []string
		}{
			{"TLS 1.2", "hello\n", "hello", []string{"-tls1_2"}},
			{"TLS 1.3", "hello\n", "hello", []string{"-tls1_3"}},
			{"TLS 1.1", "", "alert protocol version", []string{"-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"}},
			{"ALPN", "", "ALPN protocol: http/1.1", []string{"-alpn", "x,http/1.1"}},
			{"a wildcard", "hello\n", "hello", []string{"-servername", "a.wild.test", "-verify_hostname", "a.wild.test"}},
			{"KeyUpdates", "K\nk\nhello\nK\nagain\n", "again", []string{"-tls1_3"}},
			{"renegotiation", "R\n", "unexpected message", []string{"-tls1_2"}},
			{"a cipher", "hello\n", "hello", []string{"-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-GCM-SHA384"}},
			{"a bad cipher", "", "handshake failure", []string{"-tls1_2", "-cipher", "AES128-SHA"}},
		} {
			all.Go(func() {
				if out := a.client(d, test.input, test.want, test.args...); !strings.Contains(out, test.want) {
					t.Errorf("%s: %q is missing in\n%s", test.name, test.want, out)
				}
			})
		}
		all.Wait()
		session := a.path("session")
		for _, version := range []string{"-tls1_2", "-tls1_3"} {
			_ = os.Remove(session)
			a.client(d, "hello\n", "hello\n", version, "-sess_out", session)
			eventually(t, "a session is written", func() bool { _, err := os.Stat(session); return err == nil })
			if out := a.client(d, "", "Reused", version, "-sess_in", session); !strings.Contains(out, "Reused") {
				t.Errorf("%s: the session is not resumed:\n%s", version, out)
			}
		}
		// 0-RTT is not offered: a session has no max_early_data, and openssl refuses to send any.
		if out := a.run("sess_id", "-in", session, "-text", "-noout"); !strings.Contains(out, "Max Early Data: 0") {
			t.Errorf("early data is offered:\n%s", out)
		}
		if _, body := d.get("/metrics"); !strings.Contains(body, `listener_tls_certificate_expiry_seconds{index="0"`) ||
			!strings.Contains(body, `listener_tls_handshakes_total{listener="l",result="resumed",version="1.3"} 1`) {
			t.Error("the metrics of TLS are missing")
		}
	})
}

// Routes of one port end TLS with certificates of their own, pass it on, and take clients without it. A reload replaces
// the certificate of a route, and a bad one is refused with its place.
func TestTLSRoutes(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		a := newAuthority(t)
		shop, own := a.issue("shop", "shop.test"), a.issue("own", "own.test")
		pair, err := tls.LoadX509KeyPair(own, own)
		if err != nil {
			t.Fatal(err)
		}
		ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close() })
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					_, _ = io.Copy(c, c)
				}()
			}
		}()
		path := filepath.Join(t.TempDir(), "reactord.yaml")
		replace(t, path, fmt.Sprintf(`ring: %s
metrics: 127.0.0.1:0
access_log: {path: %s}
listeners:
  - name: l
    address: tcp://127.0.0.1:0
    routes:
      - sni: [shop.test]
        tls: {certificates: [{cert: %s}], min_version: "1.3"}
        backends: [{backend: plain}, {backend: none, weight: 0}]
      - {sni: ["*.test"], backend: tls}
      - {name: without, transport: raw, backend: plain}
backends:
  - {name: plain, servers: ["%s"]}
  - {name: none, servers: ["127.0.0.1:9"]}
  - {name: tls, servers: ["%s"]}
`, ring, filepath.Join(filepath.Dir(path), "log"), shop, serve(t, echo), ln.Addr()))
		d := startFile(t, path)
		for name, subject := range map[string]string{"shop.test": "CN = shop", "own.test": "CN = own"} {
			out := a.client(d, "hello\n", "hello", "-servername", name, "-verify_hostname", name)
			if !strings.Contains(out, "\nhello") || !strings.Contains(strings.ReplaceAll(out, "CN=", "CN = "), subject) {
				t.Errorf("%s: no answer, or not by %s:\n%s", name, subject, out)
			}
		}
		if out := a.client(d, "", "alert protocol version", "-servername", "shop.test", "-tls1_2"); !strings.Contains(out,
			"alert protocol version") {
			t.Errorf("TLS 1.2: %s", out)
		}
		c, err := net.Dial("tcp", d.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, "plain")
		if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
			t.Error(err)
		}
		c.Close()
		a.issue("shop", "shop.test")
		d.signal(syscall.SIGHUP)
		const told = "listener l: route 1: certificates reloaded: shop.test expires "
		if l := d.awaitLines("changed", 1)[0]; !strings.HasPrefix(l.str("change"), told) {
			t.Errorf("the log says %v", l)
		}
		if _, body := d.get("/metrics"); !strings.Contains(body,
			`listener_tls_certificate_expiry_seconds{index="0",listener="l",name="shop.test"}`) {
			t.Error("there is no metric for the certificate of the route")
		}
		eventually(t, "the access log names routes and backends", func() bool {
			text, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "log"))
			return strings.Contains(string(text), `"route":"without"`) && strings.Contains(string(text), `"route":"plain"`) &&
				strings.Contains(string(text), `"backend":"tls"`)
		})
		replace(t, shop, "nonsense")
		if r := run(t, "check", "--config", path); r.code == 0 || !strings.Contains(r.stderr, path+":9:") {
			t.Errorf("%d, %s", r.code, r.stderr)
		}
	})
}

// curl and openssl see the staple; a bad one is refused with its place.
func TestTLSStaple(t *testing.T) {
	a := newAuthority(t)
	cert := a.issue("proxy", "proxy.test")
	replace(t, a.path("index.txt"), "V\t991231235959Z\t\t01\tunknown\t/CN=proxy\n")
	a.run("ocsp", "-index", "index.txt", "-CA", "ca.pem", "-rsigner", "ca.pem", "-rkey", "ca.key", "-issuer", "ca.pem",
		"-serial", "1", "-ndays", "1", "-respout", "staple", "-noverify")
	path := filepath.Join(t.TempDir(), "reactord.yaml")
	settings := "certificates: [{cert: " + cert + ", ocsp: " + a.path("staple") + "}]"
	replace(t, path, tlsConfig("auto", "", settings, serve(t, echo)))
	d := startFile(t, path)
	if out := a.client(d, "", "Cert Status: good", "-status"); !strings.Contains(out, "Cert Status: good") {
		t.Errorf("no staple:\n%s", out)
	}
	replace(t, a.path("staple"), "nonsense")
	if r := run(t, "check", "--config", path); r.code == 0 || !strings.Contains(r.stderr, a.path("staple")) ||
		!strings.Contains(r.stderr, path+":") {
		t.Errorf("%d, %s", r.code, r.stderr)
	}
}

// A certificate that is replaced is used after SIGHUP, and also by watch alone, while connections stay. A key that does
// not fit is refused, and the old certificate stays.
func TestTLSReload(t *testing.T) {
	t.Parallel()
	onEachRing(t, func(t *testing.T, ring string) {
		a := newAuthority(t)
		cert := a.issue("proxy", "proxy.test")
		server := serve(t, echo)
		path := filepath.Join(t.TempDir(), "reactord.yaml")
		replace(t, path, tlsConfig(ring, "", "certificates: [{cert: "+cert+"}]", server))
		d := startFile(t, path)
		if got := a.served(d); got != "serial=01" {
			t.Fatalf("%s", got)
		}
		a.issue("proxy", "proxy.test")
		d.signal(syscall.SIGHUP)
		d.awaitLines("reloaded", 1)
		const told = "listener l: certificates reloaded: proxy.test expires "
		if l := d.awaitLines("changed", 1)[0]; !strings.HasPrefix(l.str("change"), told) {
			t.Errorf("the log says %v", l)
		}
		if got := a.served(d); got != "serial=02" {
			t.Errorf("after a reload: %s", got)
		}
		good, _ := os.ReadFile(cert)
		a.issue("other", "proxy.test")
		other, _ := os.ReadFile(a.path("other.key"))
		first, _, _ := bytes.Cut(good, []byte("-----BEGIN PRIVATE KEY-----"))
		replace(t, cert, string(first)+string(other))
		d.signal(syscall.SIGHUP)
		if l := d.awaitLines(refusedReload, 1)[0]; !strings.Contains(l.str("error"), "does not belong to the first") {
			t.Errorf("%v", l)
		}
		if got := a.served(d); got != "serial=02" {
			t.Errorf("after a reload that was refused: %s", got)
		}
		replace(t, path, tlsConfig(ring, "watch: true", "certificates: [{cert: "+cert+"}]", server))
		replace(t, cert, string(good))
		d.signal(syscall.SIGHUP)
		d.awaitLines("reloaded", 2)
		a.issue("proxy", "proxy.test")
		d.awaitLines("reloaded", 3)
		if got := a.served(d); got != "serial=04" {
			t.Errorf("after the file has changed: %s", got)
		}
	})
}

// An encrypted key is used with its password, and both are watched. A wrong password is refused with its place, also by
// check. No password is printed.
func TestTLSEncryptedKey(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	const first, second = "correct-horse", "battery-staple"
	// issue returns a certificate with its key, which is encrypted.
	issue := func(password string) string {
		a.issue("proxy", "proxy.test")
		replace(t, a.path("out"), password+"\n")
		a.run("pkcs8", "-topk8", "-v2", "aes-256-cbc", "-in", "proxy.key", "-out", "encrypted.key", "-passout", "file:out")
		cert, err := os.ReadFile(a.path("proxy.crt"))
		if err != nil {
			t.Fatal(err)
		}
		key, err := os.ReadFile(a.path("encrypted.key"))
		if err != nil {
			t.Fatal(err)
		}
		return string(cert) + string(key)
	}
	pem, password := a.path("pair.pem"), a.path("password")
	replace(t, pem, issue(first))
	replace(t, password, first+"\n")
	path := filepath.Join(t.TempDir(), "reactord.yaml")
	text := tlsConfig("auto", "watch: true",
		"certificates: [{cert: "+pem+", key_password_file: "+password+"}]", serve(t, echo))
	replace(t, path, text)
	d := startFile(t, path)
	if got := a.served(d); got != "serial=01" {
		t.Fatalf("%s", got)
	}
	replace(t, password, second+"\n")
	wrong := "the first line of " + password + " is not the password of the key in " + pem
	if l := d.awaitLines(refusedReload, 1)[0]; !strings.Contains(l.str("error"), wrong) {
		t.Errorf("%v", l)
	}
	before, _, _ := strings.Cut(text, password)
	line, column := strings.Count(before, "\n")+1, len(before)-strings.LastIndex(before, "\n")
	place := fmt.Sprintf("%s:%d:%d: ", path, line, column)
	r := run(t, "check", "--config", path)
	if r.code == 0 || !strings.Contains(r.stderr, place) || !strings.Contains(r.stderr, wrong) {
		t.Errorf("%d, %s, want %s", r.code, r.stderr, place)
	}
	replace(t, pem, issue(second))
	d.awaitLines("reloaded", 1)
	if got := a.served(d); got != "serial=02" {
		t.Errorf("after the key has changed: %s", got)
	}
	said := d.text() + r.stderr + r.stdout + run(t, "config", "--config", path).stdout
	_, loaded := d.get("/v1/config")
	if said += loaded; strings.Contains(said, first) || strings.Contains(said, second) {
		t.Errorf("a password is told:\n%s", said)
	}
}

// The servers of curl and of openssl behind a proxy that speaks TLS to them.
func TestTLSToServers(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		a := newAuthority(t)
		cert := a.issue("server", "server.test")
		for _, version := range []string{"-tls1_2", "-tls1_3"} {
			ln, err := net.Listen("tcp", "127.0.0.1:0") // for a port that is free
			if err != nil {
				t.Fatal(err)
			}
			address := ln.Addr().String()
			ln.Close()
			server := exec.CommandContext(t.Context(), a.openssl, "s_server", "-accept", address, "-cert", cert, "-www",
				version, "-CAfile", a.path("ca.pem"), "-Verify", "2", "-verify_return_error")
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = server.Wait() })
			own := a.issue("client", "client.test")
			path := filepath.Join(t.TempDir(), "reactord.yaml")
			replace(t, path, fmt.Sprintf("ring: %s\nmetrics: 127.0.0.1:0\nlisteners:\n"+
				"  - {name: l, address: 'tcp://127.0.0.1:0', backend: b}\nbackends:\n"+
				"  - {name: b, servers: ['tcp://%s'], tls: {enabled: true, server_name: server.test, ca: %s, cert: %s}}\n",
				ring, address, a.path("ca.pem"), own))
			d := startFile(t, path)
			client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
			var body []byte
			eventually(t, "openssl s_server answers", func() bool {
				resp, err := client.Get("http://" + d.addr + "/")
				if err != nil {
					return false
				}
				defer resp.Body.Close()
				body, err = io.ReadAll(resp.Body)
				return err == nil
			})
			want := map[string]string{"-tls1_2": "TLSv1.2", "-tls1_3": "TLSv1.3"}[version]
			if !bytes.Contains(body, []byte(want)) || !bytes.Contains(body, []byte("CN=client")) {
				t.Errorf("%s: %s", version, body)
			}
			d.stop()
			_ = server.Process.Kill()
		}
	})
}

// A session is resumed by the process that has taken over.
func TestTLSUpgrade(t *testing.T) {
	a := newAuthority(t)
	cert := a.issue("proxy", "proxy.test")
	path := filepath.Join(t.TempDir(), "reactord.yaml")
	replace(t, path, tlsConfig("auto", "", "certificates: [{cert: "+cert+"}]", serve(t, echo)))
	d := startFile(t, path)
	session := a.path("session")
	a.client(d, "hello\n", "hello\n", "-tls1_3", "-sess_out", session)
	generationsOf(t, d).upgrade()
	if out := a.client(d, "", "Reused", "-tls1_3", "-sess_in", session); !strings.Contains(out, "Reused") {
		t.Errorf("the session is not resumed:\n%s", out)
	}
}

// lockedText is what a program prints, while it prints it.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
