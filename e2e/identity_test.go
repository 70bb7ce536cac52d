package e2e

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	proxyproto "github.com/pires/go-proxyproto"
	"github.com/pires/go-proxyproto/tlvparse"

	"github.com/reactord/reactord/internal/testenv"
)

// pair is a certificate and its key, in PEM files: for servers with the names, for the client of the first name, and
// the authority of itself.
type pair struct {
	cert, key, both string
	loaded          tls.Certificate
	pool            *x509.CertPool
}

func newPair(t *testing.T, names ...string) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	dir := t.TempDir()
	p := pair{
		cert: filepath.Join(dir, "cert"), key: filepath.Join(dir, "key"), both: filepath.Join(dir, "both"),
		pool: x509.NewCertPool(),
	}
	write(t, p.cert, string(certPEM))
	write(t, p.key, string(keyPEM))
	write(t, p.both, string(certPEM)+string(keyPEM))
	p.pool.AppendCertsFromPEM(certPEM)
	if p.loaded, err = tls.X509KeyPair(certPEM, keyPEM); err != nil {
		t.Fatal(err)
	}
	return p
}

// tell sends back what it was told by a PROXY header, as a line, and then what it receives.
func tell(c *net.TCPConn) {
	r := bufio.NewReader(c)
	h, err := proxyproto.Read(r)
	if err != nil {
		fmt.Fprintf(c, "%v\n", err)
		return
	}
	tlvs, err := h.TLVs()
	if err != nil {
		fmt.Fprintf(c, "%v\n", err)
		return
	}
	line := fmt.Sprintf("v%d %v %v", h.Version, h.SourceAddr, h.DestinationAddr)
	for _, tlv := range tlvs {
		switch tlv.Type {
		case proxyproto.PP2_TYPE_UNIQUE_ID, proxyproto.PP2_TYPE_CRC32C:
			line += fmt.Sprintf(" %x:%d", byte(tlv.Type), len(tlv.Value))
		case proxyproto.PP2_TYPE_SSL:
			about, _ := tlvparse.SSL(tlv)
			name, _ := about.ClientCN()
			version, _ := about.SSLVersion()
			line += fmt.Sprintf(" 20:%s:%s:%v", version, name, about.Verified())
		default:
			line += fmt.Sprintf(" %x:%q", byte(tlv.Type), tlv.Value)
		}
	}
	fmt.Fprintln(c, line)
	_, _ = io.Copy(c, r)
}

// told is the line that a server tells.
func told(t *testing.T, c net.Conn) string {
	t.Helper()
	_ = c.SetDeadline(time.Now().Add(patience))
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// The proxies that the test has in front of reactord, and behind it. %[1]s to %[3]s are those in front; %[4]s believes
// v1 and v2, %[5]s passes TLVs; %[6]s is behind, before the server %[7]s; %[8]s is a certificate.
const haproxyAround = `
defaults
	mode tcp
	timeout connect 5s
	timeout client 1m
	timeout server 1m
listen v1
	bind %[1]s
	server one %[4]s send-proxy
listen v2
	bind %[2]s
	server one %[5]s send-proxy-v2 proxy-v2-options crc32c,unique-id
	unique-id-format haproxy
listen cn
	bind %[3]s ssl crt %[8]s ca-file %[8]s verify required
	server one %[5]s send-proxy-v2-ssl-cn
listen behind
	bind %[6]s accept-proxy
	server one %[7]s send-proxy
`

// %[2]s is in front of %[3]s, %[4]s is behind and tells the client's address, and so does %[5]s by HTTP.
const nginxAround = `
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
daemon off; pid %[1]s/pid; error_log stderr crit; worker_processes 1; user root;
events { worker_connections 64; }
stream {
	server { listen %[2]s; proxy_pass %[3]s; proxy_protocol on; }
	server { listen %[4]s proxy_protocol; return "$proxy_protocol_addr $proxy_protocol_port\n"; }
}
http {
	access_log off;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	server { listen %[5]s proxy_protocol; location / { return 200 "$proxy_protocol_addr $proxy_protocol_port\n"; } }
}
`

// Other programs understand the PROXY headers that reactord sends, and reactord understands theirs.
func TestProxyHeaders(t *testing.T) {
	haproxy, nginx := need(t, "haproxy", "haproxy"), need(t, "nginx", "libnginx-mod-stream")
	curl := need(t, "curl", "curl")
	onEachRing(t, func(t *testing.T, ring string) {
		var at [14]string // all ports are known before the first program starts
		for i := range at {
			at[i] = testenv.Vacant(t)
		}
		v1, v2, cn, behind := at[0], at[1], at[2], at[3]
		front, tells, page := at[4], at[5], at[6]
		believes, passes, chain, toNginx, toPage, doubts, plain := at[7], at[8], at[9], at[10], at[11], at[12], at[13]
		server, keys, home := serve(t, tell), newPair(t, "client.example"), t.TempDir()
		config := fmt.Sprintf("ring: %s\nmetrics: 127.0.0.1:0\nlisteners:\n", ring)
		for i, l := range [][3]string{
			{believes, "127.0.0.0/8", "v1"}, {passes, "127.0.0.0/8", "v2"}, {chain, "127.0.0.0/8", "behind"},
			{toNginx, "127.0.0.0/8", "nginx"}, {toPage, "127.0.0.0/8", "page"}, {doubts, "192.0.2.0/24", "v1"},
			{plain, "", "v2"},
		} {
			config += fmt.Sprintf(`  - {name: l%d, address: 'tcp://%s', proxy_protocol: {trusted: [%s]}, backend: %s}
`, i, l[0], l[1], l[2])
		}
		config += fmt.Sprintf(`
backends:
  - {name: v1, servers: ['tcp://%[1]s'], proxy_protocol: {version: v1}}
  - {name: v2, servers: ['tcp://%[1]s'], proxy_protocol: {version: v2, tlvs: [received, unique_id, crc32c]}}
  - {name: behind, servers: ['tcp://%[2]s'], proxy_protocol: {version: v2, tlvs: [crc32c]}}
  - {name: nginx, servers: ['tcp://%[3]s'], proxy_protocol: {version: v1}}
  - {name: page, servers: ['tcp://%[4]s'], proxy_protocol: {version: v2}}
`, server, behind, tells, page)
		d := startFile(t, writeConfig(t, config))
		d.awaitLines("listening", 7)
		write(t, filepath.Join(home, "haproxy.cfg"),
			fmt.Sprintf(haproxyAround, v1, v2, cn, believes, passes, behind, server, keys.both))
		launch(t, behind, haproxy, "-db", "-f", filepath.Join(home, "haproxy.cfg"))
		write(t, filepath.Join(home, "nginx.conf"), fmt.Sprintf(nginxAround, home, front, believes, tells, page))
		launch(t, tells, nginx, "-p", home, "-e", "stderr", "-c", filepath.Join(home, "nginx.conf"))

		for _, c := range []struct{ name, to, prefix, suffix string }{
			{"haproxy in front, v1", v1, "v1 ", ""},
			{"haproxy in front, v2", v2, "v2 ", " 5:7 3:4"},
			{"nginx in front", front, "v1 ", ""},
			{"none in front", plain, "v2 ", " 5:32 3:4"},
		} {
			t.Run(c.name, func(t *testing.T) {
				p := dial(t, c.to)
				want := c.prefix + p.LocalAddr().String() + " " + c.to + c.suffix
				if got := told(t, p); got != want {
					t.Errorf("told %q, want %q", got, want)
				}
			})
		}
		t.Run("haproxy in front, with the client's certificate", func(t *testing.T) {
			c, err := tls.Dial("tcp", cn, &tls.Config{
				Certificates: []tls.Certificate{keys.loaded}, RootCAs: keys.pool, ServerName: "client.example",
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			want := "v2 " + c.LocalAddr().String() + " " + cn + " 20:TLSv1.3:client.example:true 5:32 3:4"
			if got := told(t, c); got != want {
				t.Errorf("told %q, want %q", got, want)
			}
		})
		t.Run("haproxy behind", func(t *testing.T) {
			p := dial(t, chain)
			p.send([]byte("PROXY TCP4 192.0.2.1 198.51.100.2 1000 443\r\n"))
			if got := told(t, p); got != "v1 192.0.2.1:1000 198.51.100.2:443" {
				t.Errorf("told %q", got)
			}
		})
		t.Run("nginx behind", func(t *testing.T) {
			p := dial(t, toNginx)
			p.send([]byte("PROXY TCP6 2001:db8::1 2001:db8::2 1000 443\r\n"))
			if got := told(t, p); got != "2001:db8::1 1000" {
				t.Errorf("told %q", got)
			}
		})
		t.Run("curl in front", func(t *testing.T) {
			r := runCommand(t, curl, "-sS", "--haproxy-protocol", "-w", "%{local_ip} %{local_port}\n", "http://"+toPage+"/")
			here, there, _ := strings.Cut(r.stdout, "\n")
			if r.code != 0 || here+"\n" != there {
				t.Errorf("%q, %s", r.stdout, r.stderr)
			}
		})
		t.Run("not trusted", func(t *testing.T) {
			turnedAway(t, doubts)
			d.await("connection refused")
		})
		d.stop()
	})
}

// greet greets as a protocol's server does, and sends back what it receives.
func greet(greeting string) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		_, _ = io.WriteString(c, greeting)
		echo(c)
	}
}

// Clients ask for TLS in other protocols, and are not greeted again.
func TestStartTLS(t *testing.T) {
	openssl, keys := need(t, "openssl", "openssl"), newPair(t, "mail.example")
	protocols := []struct{ name, starttls, greeting string }{
		{"smtp", "smtp", "220-one\r\n220 two\r\n"}, {"imap", "imap", "* OK ready\r\n"}, {"pop3", "pop3", "+OK ready\r\n"},
		{"postgresql", "postgres", ""},
	}
	onEachRing(t, func(t *testing.T, ring string) {
		config, backends := fmt.Sprintf("ring: %s\nmetrics: 127.0.0.1:0\nlisteners:\n", ring), "backends:\n"
		for _, p := range protocols {
			config += fmt.Sprintf(`  - {name: %[1]s, address: 'tcp://127.0.0.1:0', start_tls: %[1]s, backend: %[1]s,
     tls: {certificates: [{cert: %[2]s, key: %[3]s}]}}
`, p.name, keys.cert, keys.key)
			backends += fmt.Sprintf("  - {name: %s, servers: ['tcp://%s']}\n", p.name, serve(t, greet(p.greeting)))
		}
		d := startFile(t, writeConfig(t, config+backends))
		at := map[string]string{}
		for _, l := range d.awaitLines("listening", len(protocols)) {
			at[l.str("listener")] = l.str("address")
		}
		for _, p := range protocols {
			t.Run(p.name, func(t *testing.T) {
				cmd := exec.CommandContext(t.Context(), openssl, "s_client", "-connect", at[p.name], "-starttls", p.starttls,
					"-quiet", "-CAfile", keys.cert, "-verify_return_error", "-servername", "mail.example")
				stdin, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				stdout, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				var stderr strings.Builder
				cmd.Stderr = &stderr
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				fmt.Fprintln(stdin, "hello")
				line, err := bufio.NewReader(stdout).ReadString('\n')
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
				if line != "hello\n" {
					t.Errorf("received %q, %v, %s", line, err, stderr.String())
				}
			})
		}
		t.Run("injection", func(t *testing.T) {
			p := dial(t, at["smtp"])
			p.send([]byte("EHLO a\r\nSTARTTLS\r\nMAIL FROM:<a@example.org>\r\n"))
			said, err := io.ReadAll(p)
			if err != nil || !strings.HasSuffix(string(said), "\r\n554 5.5.0 Nothing may follow STARTTLS\r\n") {
				t.Errorf("%q, %v", said, err)
			}
		})
		d.stop()
	})
}

// Clients of PostgreSQL ask for TLS. It ends at the proxy, or goes to the server that their SNI tells.
func TestPostgresTLS(t *testing.T) {
	bin, as, keys := postgresBin(t), postgresUser(t), newPair(t, "db.example", "other.example")
	home, err := os.MkdirTemp("", "reactord-keys-") //nolint:usetesting // another user must be able to enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	for _, err := range []error{
		os.Rename(keys.cert, filepath.Join(home, "cert")), os.Rename(keys.key, filepath.Join(home, "key")),
		os.Chown(filepath.Join(home, "cert"), int(as.Uid), int(as.Gid)),
		os.Chown(filepath.Join(home, "key"), int(as.Uid), int(as.Gid)), os.Chown(home, int(as.Uid), int(as.Gid)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	keys.cert, keys.key = filepath.Join(home, "cert"), filepath.Join(home, "key")
	server := postgres(t, "-c", "ssl=on", "-c", "ssl_cert_file="+keys.cert, "-c", "ssl_key_file="+keys.key)
	onEachRing(t, func(t *testing.T, ring string) {
		d := startFile(t, writeConfig(t, fmt.Sprintf(`
ring: %[1]s
metrics: 127.0.0.1:0
listeners:
  - {name: ends, address: 'tcp://127.0.0.1:0', start_tls: postgresql, backend: plain,
     tls: {certificates: [{cert: %[3]s, key: %[4]s}]}}
  - {name: passes, address: 'tcp://127.0.0.1:0', start_tls: postgresql, routes: [{sni: [db.example], backend: asks}]}
backends:
  - {name: plain, servers: ['tcp://%[2]s']}
  - {name: asks, servers: ['tcp://%[2]s'], tls: {start_tls: postgresql}}
`, ring, server, keys.cert, keys.key)))
		at := map[string]string{}
		for _, l := range d.awaitLines("listening", 2) {
			at[l.str("listener")] = l.str("address")
		}
		// psql asks how the server sees the connection.
		psql := func(listener, name, mode string) (string, error) {
			_, port, _ := net.SplitHostPort(at[listener])
			cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "psql"), "-XqAt", "-c",
				"SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", fmt.Sprintf(
					"host=%s hostaddr=127.0.0.1 port=%s user=test dbname=postgres sslmode=%s sslrootcert=%s connect_timeout=10",
					name, port, mode, keys.cert))
			cmd.Env = cleanEnv()
			out, err := cmd.Output()
			if failed, ok := errors.AsType[*exec.ExitError](err); ok {
				err = errors.New(string(failed.Stderr))
			}
			return strings.TrimSpace(string(out)), err
		}
		for _, c := range []struct{ listener, name, mode, want, wrong string }{
			{"ends", "db.example", "verify-full", "f", ""},
			{"ends", "other.example", "require", "f", ""},
			{"ends", "db.example", "disable", "", "connections need TLS here: use sslmode=require"},
			{"passes", "db.example", "verify-full", "t", ""},
			{"passes", "other.example", "require", "", "closed"},
		} {
			got, err := psql(c.listener, c.name, c.mode)
			if got != c.want || (err != nil) != (c.wrong != "") {
				t.Errorf("%s as %s, %s: %q, %v", c.listener, c.name, c.mode, got, err)
			} else if err != nil && !strings.Contains(err.Error(), c.wrong) && c.wrong != "closed" {
				t.Errorf("%s as %s, %s: %v", c.listener, c.name, c.mode, err)
			}
		}
		d.stop()
	})
}
