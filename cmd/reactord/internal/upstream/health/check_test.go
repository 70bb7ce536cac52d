package health

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
	"golang.org/x/sys/unix"
)

func (l *looping) check(to netip.AddrPort, c config.Check) error {
	l.t.Helper()
	return l.checkWith(to, c, nil)
}

func (l *looping) checkWith(to netip.AddrPort, c config.Check, keys *certs.Client) error {
	l.t.Helper()
	if c.Timeout == 0 {
		c.Timeout = patience
	}
	before := descriptors(l.t)
	err := l.do(func(t *task.T) error { return Check(t, serveraddr.IP(to), &c, keys) })
	if after := descriptors(l.t); after > before+1 { // the server may not have closed its end yet
		l.t.Errorf("%d descriptors before the check, %d after it", before, after)
	}
	return err
}

// TestUnixCheck checks servers on unix sockets: one that answers, one that is not there, and one with a full backlog.
func TestUnixCheck(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		at := fmt.Sprintf("@reactord-check-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))
		check := func(c config.Check) error {
			c.Timeout = patience
			return l.do(func(t *task.T) error { return Check(t, serveraddr.Unix(at), &c, nil) })
		}
		if err := check(config.Check{}); !errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, ErrInconclusive) {
			t.Errorf("without a server: %v", err)
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: at}), unix.Listen(fd, 0))
		}
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if err := check(config.Check{Port: 1}); err != nil { // a unix socket has no port
			t.Errorf("a server that listens: %v", err)
		}
		if err := check(config.Check{}); !errors.Is(err, serveraddr.ErrBacklogFull) || errors.Is(err, ErrInconclusive) {
			t.Errorf("a full backlog: %v", err)
		}
		go func() {
			for range 2 { // the check before is in the backlog
				c, _, err := unix.Accept(fd)
				if err != nil {
					return
				}
				_, _ = unix.Write(c, []byte("hello"))
				unix.Close(c)
			}
		}()
		waitUntil := time.Now().Add(patience)
		for err = errors.New(""); err != nil && time.Now().Before(waitUntil); time.Sleep(time.Millisecond) {
			err = check(config.Check{Expect: "hello"})
		}
		if err != nil {
			t.Error(err)
		}
	})
}

// A check asks a server on a unix socket, in the file system or abstract, in several steps.
func TestUnixDialogue(t *testing.T) {
	for _, at := range []string{fmt.Sprintf("@reactord-dialogue-%d", os.Getpid()), filepath.Join(t.TempDir(), "s")} {
		ln, err := net.Listen("unix", at)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				_ = c.SetDeadline(time.Now().Add(patience))
				answers(c, 1, "+OK\r\n", "master\r\n")
				c.Close()
			}
		}()
		onRings(t, func(t *testing.T, l *looping) {
			for role, good := range map[string]bool{"master": true, "slave": false} {
				c := config.Check{Timeout: patience, Steps: []config.CheckStep{login[0], {Send: "ROLE\n", Expect: role}}}
				err := l.do(func(t *task.T) error { return Check(t, serveraddr.Unix(at), &c, nil) })
				if (err == nil) != good {
					t.Errorf("%s, %s: %v", at, role, err)
				}
			}
		})
		ln.Close()
		<-ended
	}
}

func TestConnect(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		to := server(t, silent)
		if err := l.check(to, config.Check{}); err != nil {
			t.Errorf("a server that listens: %v", err)
		}
		if err := l.check(netip.MustParseAddrPort("[::1]:1"), config.Check{Port: int(to.Port())}); err == nil {
			t.Error("the other port is refused on ::1, and the check succeeds")
		}
		elsewhere := netip.AddrPortFrom(to.Addr(), vacant(t).Port())
		if err := l.check(elsewhere, config.Check{Port: int(to.Port())}); err != nil {
			t.Errorf("a server that listens on the check's port: %v", err)
		}
		err := l.check(vacant(t), config.Check{})
		if !errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, ErrInconclusive) {
			t.Errorf("a server that refuses: %v", err)
		}
	})
}

func TestSendAndExpect(t *testing.T) {
	// dialogue reads a question of so many bytes, and writes the answer in pieces.
	dialogue := func(question int, answer ...string) func(*net.TCPConn) {
		return func(c *net.TCPConn) {
			if _, err := io.ReadFull(c, make([]byte, question)); err != nil {
				return
			}
			for _, a := range answer {
				_, _ = io.WriteString(c, a)
				time.Sleep(5 * time.Millisecond) // so that they are apart
			}
			_ = c.CloseWrite()
			silent(c)
		}
	}
	large := strings.Repeat("x", answerLimit)
	for _, c := range []struct {
		name  string
		serve func(*net.TCPConn)
		check config.Check
		want  string // of the error; "": none
	}{
		{"in pieces", dialogue(4, "no ", "PO", "N", "G\n"), config.Check{Send: "PING", Expect: "PONG"}, ""},
		{"hex", dialogue(2, "\x00\xff\x10"), config.Check{SendHex: "00 0F", ExpectHex: "ff10"}, ""},
		{"without an answer", silent, config.Check{Send: "hello"}, ""},
		{"at the limit", dialogue(0, large[4:], "PONG"), config.Check{Expect: "PONG"}, ""},
		{"behind the limit", dialogue(0, large, "PONG"), config.Check{Expect: "PONG"}, "the first 65536 bytes"},
		{"another answer", dialogue(4, "+LOADING"), config.Check{Send: "PING", Expect: "PONG"}, `"+LOADING", without "PONG"`},
		{"no answer", func(*net.TCPConn) {}, config.Check{Expect: "PONG"}, `closed after "", without "PONG"`},
		{"reset", func(c *net.TCPConn) { _ = c.SetLinger(0) }, config.Check{Expect: "x"}, "connection reset"},
		{"bad digits", silent, config.Check{SendHex: "0g"}, "send_hex"},
		{"bad digits expected", silent, config.Check{ExpectHex: "0"}, "expect_hex"},
		{"PROXY", func(c *net.TCPConn) {
			got := make([]byte, 17)
			_, _ = io.ReadFull(c, got)
			if want := "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00!"; string(got) == want {
				_, _ = io.WriteString(c, "local")
			}
		}, config.Check{Proxy: true, Send: "!", Expect: "local"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			onRings(t, func(t *testing.T, l *looping) {
				err := l.check(server(t, c.serve), c.check)
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%v, want %q", err, c.want)
				}
			})
		})
	}
}

// The timeout covers all: a server that lets a check wait anywhere, and one that keeps it busy.
func TestTimeout(t *testing.T) {
	drip := func(c *net.TCPConn) {
		for {
			if _, err := c.Write([]byte("x")); err != nil {
				return
			}
			time.Sleep(time.Millisecond) // a drip, not a flood
		}
	}
	checked := make(chan struct{})
	unread := func(c *net.TCPConn) {
		_ = c.SetReadBuffer(4 << 10)
		<-checked
	}
	for _, c := range []struct {
		name  string
		serve func(*net.TCPConn)
		check config.Check
		step  string
	}{
		{"silent", silent, config.Check{Expect: "x"}, "receive: "},
		{"silent under TLS", silent, config.Check{TLS: true}, "TLS handshake: "},
		{"drip", drip, config.Check{Expect: "y"}, "receive: "},
		{"unread", unread, config.Check{Send: strings.Repeat("x", 64<<20)}, "send: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			onRings(t, func(t *testing.T, l *looping) {
				c.check.Timeout = 100 * time.Millisecond
				began := time.Now()
				err := l.check(server(t, c.serve), c.check)
				if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.HasPrefix(err.Error(), c.step) {
					t.Errorf("%v, want %s and a timeout", err, c.step)
				}
				if d := time.Since(began); d < c.check.Timeout {
					t.Errorf("it took %v, the timeout is %v", d, c.check.Timeout)
				}
				if c.name == "unread" {
					checked <- struct{}{}
				}
			})
		})
	}
}

// A check that is stopped says so, and nothing about the server.
func TestStopped(t *testing.T) {
	for _, c := range []config.Check{{Expect: "x"}, {TLS: true}} {
		onRings(t, func(t *testing.T, l *looping) {
			accepted := make(chan struct{}, 1)
			to := server(t, func(c *net.TCPConn) { accepted <- struct{}{}; silent(c) })
			done := l.start(func(t *task.T) error { return Check(t, serveraddr.IP(to), &c, nil) })
			await(t, accepted)
			l.Stop()
			if err := l.wait(done); !errors.Is(err, sender.ErrStopped) {
				t.Errorf("%v, want %v", err, sender.ErrStopped)
			}
		})
	}
}

// Without descriptors, a check says nothing about the server.
func TestInconclusive(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		to := server(t, silent)
		release := exhaust(t)
		err := l.do(func(t *task.T) error { return Check(t, serveraddr.IP(to), &config.Check{}, nil) })
		release()
		if !errors.Is(err, ErrInconclusive) || !errors.Is(err, syscall.EMFILE) {
			t.Errorf("%v, want %v", err, ErrInconclusive)
		}
		if err := l.check(to, config.Check{}); err != nil {
			t.Errorf("with descriptors: %v", err)
		}
	})
}

// exhaust leaves the process without a free descriptor.
func exhaust(t *testing.T) (release func()) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := limit
	low.Cur = 3
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	var once bool
	release = func() {
		if once {
			return
		}
		once = true
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(release)
	return release
}

// A check leaves no connection in TIME_WAIT: it is reset, unless the server has closed it first.
func TestClose(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		saw := make(chan error, 1)
		read := func(c *net.TCPConn) {
			_, err := c.Read(make([]byte, 1))
			saw <- err
		}
		// It answers first: a reset may overtake the end of the handshake, and then the server sees no connection.
		answer := func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "x")
			read(c)
		}
		if err := l.check(server(t, answer), config.Check{Expect: "x"}); err != nil {
			t.Error(err)
		}
		if err := await(t, saw); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the server reads %v, want a reset", err)
		}
		_ = l.check(server(t, func(c *net.TCPConn) {
			_ = c.CloseWrite()
			read(c)
		}), config.Check{Expect: "x"})
		if err := await(t, saw); err != io.EOF {
			t.Errorf("the server that has closed reads %v, want EOF", err)
		}
	})
}

// authority signs the certificates of tests, and is the only one that the process trusts.
var authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func makeAuthority() {
	authority.key = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der := must(x509.CreateCertificate(rand.Reader, c, c, &authority.key.PublicKey, authority.key))
	authority.certificate = must(x509.ParseCertificate(der))
	dir := must(os.MkdirTemp("", "health"))
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(file, block, 0o600); err != nil {
		panic(err)
	}
	os.Setenv("SSL_CERT_FILE", file)
	if err := Preload(&config.Check{TLSServerName: "any"}); err != nil {
		panic(err)
	}
}

// identity is a server's settings with a certificate for a name.
func identity(name string) *tls.Config {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	c := &x509.Certificate{SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name}}
	der := must(x509.CreateCertificate(rand.Reader, c, authority.certificate, &key.PublicKey, authority.key))
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

func TestTLS(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			cfg := identity("db.example")
			cfg.MaxVersion = version
			to := server(t, func(c *net.TCPConn) {
				header := make([]byte, len(proxyLocal))
				if _, err := io.ReadFull(c, header); err != nil || !bytes.Equal(header, proxyLocal) {
					return
				}
				s := tls.Server(c, cfg)
				b := make([]byte, 4)
				if _, err := io.ReadFull(s, b); err == nil {
					_, _ = fmt.Fprintf(s, "%s yourself", b)
				}
				silent(c)
			})
			check := config.Check{TLS: true, Proxy: true, Send: "PING", Expect: "PING yourself"}
			for name, good := range map[string]bool{"": true, "db.example": true, "other.example": false} {
				check.TLSServerName = name
				err := l.check(to, check)
				_, wrongName := errors.AsType[x509.HostnameError](err)
				if good && err != nil || !good && !wrongName {
					t.Errorf("%s, name %q: %v", tls.VersionName(version), name, err)
				}
			}
		}
		plain := server(t, func(c *net.TCPConn) { _, _ = io.WriteString(c, "220 mail.example ESMTP\r\n"); silent(c) })
		if err := l.check(plain, config.Check{TLS: true}); err == nil || !strings.HasPrefix(err.Error(), "TLS handshake: ") {
			t.Errorf("a server without TLS: %v", err)
		}
	})
}

// With the backend's keys, its authorities count instead of the system's, and the server sees its certificate.
func TestTLSKeys(t *testing.T) {
	own := certstest.New(t)
	key := certstest.Key(t)
	pair := own.Pair(own.Issue("server", key, time.Hour, "db.example"))
	c := config.NewBackend().TLS
	c.Enabled, c.CA, c.Cert = true, own.File, own.Issue("client", key, time.Hour, "client.example")
	keys, problems := certs.LoadClient(&c, nil)
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	onRings(t, func(t *testing.T, l *looping) {
		to := server(t, func(c *net.TCPConn) {
			s := tls.Server(c, &tls.Config{
				Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: own.Pool,
			})
			_, _ = io.WriteString(s, "hello")
			silent(c)
		})
		check := config.Check{TLS: true, TLSServerName: "db.example", Expect: "hello"}
		_, unknown := errors.AsType[x509.UnknownAuthorityError](l.check(to, check))
		if !unknown {
			t.Error("without the keys, the authority is not unknown")
		}
		for name, good := range map[string]bool{"": true, "db.example": true, "other.example": false} {
			check.TLSServerName = name
			if err := l.checkWith(to, check, keys); (err == nil) != good {
				t.Errorf("name %q: %v", name, err)
			}
		}
	})
}

func TestAgent(t *testing.T) {
	onRings(t, func(t *testing.T, l *looping) {
		ask := func(serve func(*net.TCPConn), send string) (r AgentReport, err error) {
			to := server(t, serve)
			a := &config.Agent{Port: int(to.Port()), Timeout: patience, Send: send}
			address := netip.AddrPortFrom(to.Addr(), 1)
			_ = l.do(func(t *task.T) error {
				r, err = AskAgent(t, serveraddr.IP(address), a, unreported)
				return nil
			})
			return r, err
		}
		r, err := ask(func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "dra")
			_, _ = io.WriteString(c, "in 20%\n")
			silent(c)
		}, "")
		if want := (AgentReport{Weight: 20, State: AgentDrain}); r != want || err != nil {
			t.Errorf("%+v, %v; want %+v", r, err, want)
		}
		r, err = ask(func(c *net.TCPConn) {
			b := make([]byte, 6)
			_, _ = io.ReadFull(c, b)
			if string(b) == "state\n" {
				_, _ = io.WriteString(c, "down # maintenance window")
			}
		}, "state\n")
		if want := (AgentReport{Weight: 100, Down: true, Reason: "maintenance window"}); r != want || err != nil {
			t.Errorf("%+v, %v; want %+v", r, err, want)
		}
		r, err = ask(func(c *net.TCPConn) { _, _ = c.Write(bytes.Repeat([]byte("up "), 2*lineLimit)); silent(c) }, "")
		if r != unreported || err == nil || !strings.Contains(err.Error(), "longer than") {
			t.Errorf("%+v, %v; want an error", r, err)
		}
		if r, err = ask(func(*net.TCPConn) {}, ""); r != unreported || err == nil {
			t.Errorf("%+v, %v; want an error", r, err)
		}
	})
}

func TestRedis(t *testing.T) {
	to := vacant(t)
	launch(t, to, "redis-server", "redis-server", "--bind", to.Addr().String(), "--port", fmt.Sprint(to.Port()),
		"--save", "", "--appendonly", "no", "--dir", t.TempDir())
	onRings(t, func(t *testing.T, l *looping) {
		if err := l.check(to, config.Check{Send: "PING\r\n", Expect: "+PONG\r\n"}); err != nil {
			t.Error(err)
		}
		err := l.check(to, config.Check{Send: "NONSENSE\r\n", Expect: "+PONG", Timeout: 200 * time.Millisecond})
		if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "-ERR unknown command '[redacted]'") {
			t.Errorf("nonsense: %v", err)
		}
		role := []config.CheckStep{{Send: "PING\r\n", Expect: "+PONG\r\n"}, {Send: "ROLE\r\n", Expect: "master"}}
		if err := l.check(to, config.Check{Steps: role}); err != nil {
			t.Errorf("a role: %v", err)
		}
	})
}

func TestNginx(t *testing.T) {
	to, dir := vacant(t), t.TempDir()
	conf := fmt.Sprintf(`daemon off; pid %[1]s/pid; error_log stderr; events {}
		http { access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f;
			uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
			server { listen %[2]s proxy_protocol; location / { return 200 "healthy"; } location /down { return 503; } } }`, dir, to)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	launch(t, to, "nginx-light", "nginx", "-c", file, "-p", dir, "-e", "stderr")
	onRings(t, func(t *testing.T, l *looping) {
		get := func(path string) config.Check {
			return config.Check{Proxy: true, Send: "GET " + path + " HTTP/1.0\r\n\r\n", Expect: "HTTP/1.1 200"}
		}
		if err := l.check(to, get("/")); err != nil {
			t.Error(err)
		}
		if err := l.check(to, get("/down")); err == nil || !strings.Contains(err.Error(), "503") {
			t.Errorf("a 503: %v", err)
		}
	})
}
