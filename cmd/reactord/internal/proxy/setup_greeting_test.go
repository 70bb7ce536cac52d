package proxy

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	oracle "github.com/pires/go-proxyproto"
	"github.com/pires/go-proxyproto/tlvparse"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/proxyproto"
	"github.com/reactord/reactord/reactor"
)

// telling has a backend's servers told by a PROXY header.
func telling(version config.ProxyVersion, tlvs ...config.ProxyTLV) func(*config.Backend) {
	return func(b *config.Backend) { b.ProxyProtocol = config.SendProxy{Version: version, TLVs: tlvs} }
}

func readHeader(t *testing.T, s net.Conn) (*oracle.Header, *bufio.Reader) {
	t.Helper()
	r := bufio.NewReader(s)
	h, err := oracle.Read(r)
	if err != nil {
		t.Fatal(err)
	}
	return h, r
}

func expectNext(t *testing.T, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(r, got); err != nil || string(got) != want {
		t.Fatalf("got %q, %v; want %q", got[:n], err, want)
	}
}

// Servers are told the client's address. A server that speaks first is not kept waiting.
func TestPROXYHeaderForServers(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for _, version := range []config.ProxyVersion{"v1", "v2"} {
			ln := listen(t)
			p := startAs(t, ring, nil, telling(version), ln)
			c := dialProxy(t, p)
			s := acceptFrom(t, ln)
			h, r := readHeader(t, s)
			if h.Version != version[1]-'0' || h.SourceAddr.String() != c.LocalAddr().String() ||
				h.DestinationAddr.String() != c.RemoteAddr().String() {
				t.Errorf("%+v", h)
			}
			write(t, s, "220 ready")
			expect(t, c, "220 ready")
			write(t, c, "EHLO")
			expectNext(t, r, "EHLO")
			c.Close()
			expectNext(t, r, "")
			s.Close()
			expectEnd(t, p, reasonNormal)
			if n := p.Stats().Listeners[0].ReceivedBytes; n != 4 {
				t.Errorf("%d bytes are counted", n)
			}
		}
	})
}

// What a trusted proxy has told is told to servers, with what is known here.
func TestPROXYHeaderIsPassedOn(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := startAs(t, ring, trusting, telling("v2", "received", "authority", "unique_id", "crc32c"), ln)
		c := dialProxy(t, p)
		write(t, c, told2+"early")
		h, r := readHeader(t, acceptFrom(t, ln))
		if h.SourceAddr.String() != "[2001:db8::7]:4711" || h.DestinationAddr.String() != "[2001:db8::9]:443" {
			t.Errorf("%+v", h)
		}
		tlvs, err := h.TLVs()
		if err != nil || len(tlvs) != 3 {
			t.Fatalf("%v, %v", tlvs, err)
		}
		if tlvs[0].Type != oracle.PP2_TYPE_AUTHORITY || string(tlvs[0].Value) != "example.org" ||
			tlvs[1].Type != oracle.PP2_TYPE_UNIQUE_ID || len(tlvs[1].Value) != 32 ||
			tlvs[2].Type != oracle.PP2_TYPE_CRC32C {
			t.Errorf("%v", tlvs)
		}
		expectNext(t, r, "early")
	})
}

// A server that resets the connection when it is greeted has failed, and the next one is greeted with the same bytes.
func TestEarlyBytesSurviveAFailedHandshake(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		first, second := listen(t), listen(t)
		p := startAs(t, ring, trusting, func(b *config.Backend) {
			telling("v1")(b)
			b.TLS.StartTLS = "postgresql"
		}, first, second)
		go func() {
			for { // whichever is first fails
				c, err := first.Accept()
				if err != nil {
					return
				}
				_ = c.(*net.TCPConn).SetLinger(0)
				c.Close()
			}
		}()
		for range 2 {
			c := dialProxy(t, p)
			write(t, c, told1+"early")
			s := acceptFrom(t, second)
			h, r := readHeader(t, s)
			if h.SourceAddr.String() != "192.0.2.7:4711" {
				t.Errorf("%+v", h)
			}
			expectNext(t, r, "\x00\x00\x00\x08\x04\xd2\x16\x2f")
			write(t, s, "S")
			expectNext(t, r, "early")
			write(t, s, "late")
			expect(t, c, "late")
			c.Close()
			s.Close()
		}
	})
}

// The ends of greetings.
func TestEndsOfGreetings(t *testing.T) {
	for _, test := range []struct {
		name  string
		set   func(*config.Backend)
		serve func(c net.Conn)
		want  closeReason
	}{
		{"refused TLS", func(b *config.Backend) { b.TLS.StartTLS = "postgresql" },
			func(c net.Conn) { _, _ = c.Read(make([]byte, 8)); _, _ = io.WriteString(c, "N") }, reasonServerTLS},
		{"silent server", func(b *config.Backend) { b.TLS.StartTLS, b.TLS.HandshakeTimeout = "smtp", 30*time.Millisecond },
			func(net.Conn) {}, reasonServerTLSTimeout},
		{"silent TLS server", func(b *config.Backend) { b.TLS.Enabled, b.TLS.HandshakeTimeout = true, 30*time.Millisecond },
			func(net.Conn) {}, reasonServerTLSTimeout},
		{"EOF", func(b *config.Backend) { b.TLS.StartTLS = "imap" }, func(c net.Conn) { c.Close() }, reasonServerTLS},
		{"no TLS", func(b *config.Backend) { b.TLS.Enabled = true },
			func(c net.Conn) {
				_, _ = c.Read(make([]byte, 8))
				_, _ = io.WriteString(c, "HTTP/1.1 400\r\n\r\n")
			}, reasonServerTLS},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
				ln := listen(t)
				p := startAs(t, ring, nil, test.set, ln)
				c := dialProxy(t, p)
				s := acceptFrom(t, ln)
				test.serve(s)
				expectReset(t, c)
				expectEnd(t, p, test.want)
				n := p.Stats().Servers[0].FailuresByReason
				if !slices.ContainsFunc(n, func(c stats.Count) bool { return c.Count != 0 }) {
					t.Errorf("the failure was not counted: %v", n)
				}
			})
		})
	}
}

// A connection that greets its server is listed and closed as others.
func TestGreetingIsAConnection(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		ln := listen(t)
		p := startAs(t, ring, nil, func(b *config.Backend) { b.TLS.StartTLS = "smtp" }, ln)
		c := dialProxy(t, p)
		s := acceptFrom(t, ln)
		for deadline := time.Now().Add(10 * time.Second); ; {
			all, err := p.Connections(t.Context(), Filter{Backend: "b"}, 0)
			if err == nil && len(all) == 1 && all[0].Phase == "greeting" {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%+v, %v", all, err)
			}
		}
		if n, err := p.CloseConnections(t.Context(), Filter{}); n != 1 || err != nil {
			t.Errorf("%d connections were closed, %v", n, err)
		}
		expectReset(t, c)
		expectReset(t, s)
		expectEnd(t, p, reasonAdmin)
	})
}

// certFiles is the files of a certificate for a.test, in PEM, and a pool with it.
func certFiles(t *testing.T) (config.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"a.test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, &cert, &cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pem")
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return config.Certificate{Cert: path}, pool
}

// TLS ends here, after a PROXY header; the server is told of it, and by STARTTLS and TLS where it wants that. The
// server is one of TCP, or on a unix socket.
func TestTLSOnEachSide(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		for _, test := range []struct {
			name           string
			client, server bool            // TLS
			asks, asked    config.StartTLS // STARTTLS of the client, and with the server
			greets         string          // of the server
		}{
			{name: "client", client: true},
			{name: "server", server: true},
			{name: "both", client: true, server: true},
			{name: "client asks", client: true, asks: "smtp", greets: "220 x ESMTP\r\n"},
			{name: "both ask", client: true, server: true, asks: "smtp", asked: "smtp"},
			{name: "server is asked", server: true, asked: "smtp", greets: "220 mail\r\n"},
			{name: "server is asked behind TLS", client: true, server: true, asked: "smtp", greets: "220 mail\r\n"},
			{name: "client asks, server has TLS", client: true, server: true, asks: "smtp", greets: "220 x ESMTP\r\n"},
		} {
			for network, listen := range map[string]func(*testing.T) net.Listener{"tcp": listen, "unix": listenPath} {
				t.Run(test.name+"/"+network, func(t *testing.T) {
					cert, pool := certFiles(t)
					pair, err := tls.LoadX509KeyPair(cert.Cert, cert.Cert)
					if err != nil {
						t.Fatal(err)
					}
					ln := listen(t)
					p := startAs(t, ring, func(l *plan.Listener) {
						trusting(l)
						if l.StartTLS = "none"; test.asks != "" {
							l.StartTLS = test.asks
						}
						if test.client {
							l.TLS.Certificates, l.TLS.ALPN = []config.Certificate{cert}, []string{"x"}
						}
					}, func(b *config.Backend) {
						telling("v2", "ssl", "alpn", "authority")(b)
						b.TLS.Enabled, b.TLS.CA, b.TLS.ServerName = test.server, cert.Cert, "a.test"
						if test.asked != "" {
							b.TLS.StartTLS = test.asked
						}
					}, ln)
					raw := dialProxy(t, p)
					write(t, raw, told1)
					var c net.Conn = raw
					if !test.client {
						write(t, raw, "early ")
					}
					served := make(chan error, 1)
					go func() { served <- serveTLS(ln, pair, test.server, string(test.asked), test.greets, test.client) }()
					if test.asks != "" {
						askForTLS(t, raw)
					}
					if test.client {
						c = tls.Client(raw, &tls.Config{ServerName: "a.test", RootCAs: pool, NextProtos: []string{"x"}})
						write(t, c, "early ")
					}
					if test.asks == "" && test.asked != "" {
						expect(t, c, test.greets)
					}
					write(t, c, "hello")
					expect(t, c, "early hello")
					raw.Close()
					if err := <-served; err != nil {
						t.Error(err)
					}
				})
			}
		}
	})
}

// askForTLS asks for TLS as a client of SMTP does.
func askForTLS(t *testing.T, c net.Conn) {
	t.Helper()
	r := bufio.NewReader(c)
	for _, say := range []string{"", "EHLO a\r\n", "STARTTLS\r\n"} {
		write(t, c, say)
		for {
			line, err := r.ReadString('\n')
			if err != nil || line[0] != '2' {
				t.Fatalf("%q, %v", line, err)
			}
			if line[3] == ' ' {
				break
			}
		}
	}
}

// serveTLS is a server that says what it has received. It checks what it is told of the client.
func serveTLS(ln net.Listener, pair tls.Certificate, secure bool, asked, greets string, clientTLS bool) error {
	raw, err := ln.Accept()
	if err != nil {
		return err
	}
	defer raw.Close()
	_ = raw.SetDeadline(time.Now().Add(5 * time.Second))
	b := make([]byte, 16)
	header := make([]byte, 0, 4096)
	for { // byte by byte: what follows is for TLS
		if _, err := io.ReadFull(raw, b[:1]); err != nil {
			return err
		}
		header = append(header, b[0])
		h, n, err := proxyproto.Parse(header)
		if err == proxyproto.ErrIncomplete {
			continue
		}
		if err != nil || n != len(header) || h.Source != netip.MustParseAddrPort("192.0.2.7:4711") {
			return err
		}
		break
	}
	oracleHeader, err := oracle.Read(bufio.NewReader(strings.NewReader(string(header))))
	if err != nil {
		return err
	}
	tlvs, err := oracleHeader.TLVs()
	if err != nil {
		return err
	}
	if ssl, ok := tlvparse.FindSSL(tlvs); ok != clientTLS || ok && !ssl.ClientSSL() {
		return io.ErrNoProgress
	}
	if !secure && greets != "" {
		_, _ = io.WriteString(raw, greets)
	}
	r := bufio.NewReader(raw)
	if asked != "" {
		if greets == "" {
			greets = "220 x\r\n"
		}
		_, _ = io.WriteString(raw, greets)
		if line, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "EHLO") {
			return io.ErrNoProgress
		}
		_, _ = io.WriteString(raw, "250-x\r\n250 STARTTLS\r\n")
		if line, err := r.ReadString('\n'); err != nil || line != "STARTTLS\r\n" {
			return io.ErrNoProgress
		}
		_, _ = io.WriteString(raw, "220 go\r\n")
	}
	var c net.Conn = raw
	if secure {
		c = tls.Server(raw, &tls.Config{Certificates: []tls.Certificate{pair}})
		if asked == "" && greets != "" {
			_, _ = io.WriteString(c, greets)
		}
	}
	got := make([]byte, len("early hello"))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if _, err := c.Write(got); err != nil {
		return err
	}
	_, _ = c.Read(b)
	return nil
}
