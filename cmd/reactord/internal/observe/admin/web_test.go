package admin_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin/admintest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/crypto/bcrypt"
)

// webFiles writes a certificate with its key, and returns its path and that of a web configuration file beside it.
func webFiles(t *testing.T) (pemFile, webFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	pemFile, webFile = filepath.Join(dir, "web.pem"), filepath.Join(dir, "web.yml")
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})...)
	if err := os.WriteFile(pemFile, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return pemFile, webFile
}

const webTLS = "tls_server_config: {cert_file: web.pem, key_file: web.pem}\n"

// users is the users of a web configuration file.
func users(t *testing.T, name, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return "basic_auth_users: {" + name + ": '" + string(hash) + "'}\n"
}

// overwrite replaces a file as a whole.
func overwrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// An address that other machines reach needs TLS, and passwords or client certificates.
func TestCheckWeb(t *testing.T) {
	_, file := webFiles(t)
	some := users(t, "ops", "secret")
	for _, test := range []struct {
		text string
		open bool
		want string // "": it is right
	}{
		{"", false, ""},
		{"", true, "without TLS: write tls_server_config"},
		{some, false, ""},
		{some, true, "without TLS"},
		{webTLS, false, ""},
		{webTLS, true, "without authentication"},
		{webTLS + some, true, ""},
		{"tls_server_config: {cert_file: web.pem, key_file: web.pem, client_ca_file: web.pem, " +
			"client_auth_type: RequireAndVerifyClientCert}", true, ""},
		{"tls_server_config: {cert_file: web.pem, key_file: web.pem, client_auth_type: RequireAnyClientCert}", true,
			"without authentication"},
		{"basic_auth_users: {ops: secret}", false, `the password of user "ops" is not a bcrypt hash`},
		{"tls_server_config: {min_version: TLS14}", false, "unknown TLS version: TLS14"},
		{"a: b\nc: d\n", false, "line 1: field a not found in type web.Config line 2: field c not found"},
	} {
		overwrite(t, file, test.text)
		switch err := admin.CheckWeb(file, test.open); {
		case (err == nil) != (test.want == ""), err != nil && !strings.Contains(err.Error(), test.want):
			t.Errorf("%q: %v, want %s", test.text, err, test.want)
		case err != nil && strings.ContainsAny(err.Error(), "\n\t"):
			t.Errorf("%q has several lines", err)
		}
	}
	if err := admin.CheckWeb(file+".none", false); err == nil || err.Error() != "no such file or directory" {
		t.Errorf("without a file: %v", err)
	}
}

// elsewhere is a listener that says that it listens on an address of the network.
type elsewhere struct{ net.Listener }

func (elsewhere) Addr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.1:1"))
}

// TestOpenAPIAddress answers other machines only while its file protects it.
func TestOpenAPIAddress(t *testing.T) {
	pemFile, file := webFiles(t)
	some := users(t, "ops", "secret")
	overwrite(t, file, webTLS+some)
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := own.Addr().String()
	cfg := config.Admin{Address: "tcp://192.0.2.1:1", WebConfigFile: file}
	a, err := admin.TakeOverAPI(cfg, elsewhere{own}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	a.Serve(admintest.New(0), zap.NewAtomicLevel(), nil)
	defer closed(t, a)
	_, port, _ := net.SplitHostPort(address)
	c, err := admin.NewClient(admin.Access{
		Address: "https://localhost:" + port, CACert: pemFile, User: "ops", Password: "secret",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	status := func() error {
		_, _, err := admin.GetStatus.Call(t.Context(), c, admin.None{})
		return err
	}
	if err := status(); err != nil {
		t.Error(err)
	}
	overwrite(t, file, webTLS)
	if err := status(); err == nil || !strings.Contains(err.Error(), "without authentication") {
		t.Errorf("without users: %v", err)
	}
	overwrite(t, file, webTLS+some)
	if err := status(); err != nil {
		t.Error(err)
	}
	if _, err := admin.ListenAPI(config.Admin{Address: "tcp://192.0.2.1:1"}, zap.NewNop()); err == nil ||
		!strings.Contains(err.Error(), "without TLS and passwords, the address must be a loopback address") {
		t.Errorf("without a file: %v", err)
	}
}

// A file that was broken between its check and the start does not end the server: it answers once the file is right.
func TestWebFileBrokenAtStart(t *testing.T) {
	pemFile, file := webFiles(t)
	overwrite(t, file, "{")
	core, logged := observer.New(zapcore.ErrorLevel)
	s, err := admin.Listen("127.0.0.1:0", file, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(http.NotFoundHandler())
	for deadline := time.Now().Add(20 * time.Second); logged.Len() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing is logged")
		}
	}
	overwrite(t, file, webTLS)
	roots := x509.NewCertPool()
	text, err := os.ReadFile(pemFile)
	if err != nil {
		t.Fatal(err)
	}
	roots.AppendCertsFromPEM(text)
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: "localhost", NextProtos: []string{"h2", "http/1.1"}},
		DisableKeepAlives: true, ForceAttemptHTTP2: true,
	}}
	got, err := client.Get("https://" + s.Addr().String() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK || got.ProtoMajor != 1 {
		t.Errorf("%d over %s", got.StatusCode, got.Proto)
	}
	if err := s.Close(); err != nil || logged.Len() != 1 {
		t.Errorf("%v; %d lines", err, logged.Len())
	}

	overwrite(t, file, "{")
	if s, err = admin.Listen("127.0.0.1:0", file, zap.NewNop()); err != nil {
		t.Fatal(err)
	}
	s.Serve(http.NotFoundHandler())
	if err := s.Close(); err != nil {
		t.Errorf("closed before it answers: %v", err)
	}
}

// A file that breaks while the server runs is an error that names it, said once for many clients.
func TestWebFileBrokenWhileServing(t *testing.T) {
	for name, right := range map[string]string{"TLS": webTLS, "plain": users(t, "ops", "secret")} {
		t.Run(name, func(t *testing.T) {
			_, file := webFiles(t)
			overwrite(t, file, right)
			core, logged := observer.New(zapcore.ErrorLevel)
			s, err := admin.Listen("127.0.0.1:0", file, zap.New(core))
			if err != nil {
				t.Fatal(err)
			}
			s.Serve(http.NotFoundHandler())
			scheme := "http"
			if name == "TLS" {
				scheme = "https"
			}
			client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
				TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
			}}
			ask := func() (*http.Response, error) {
				got, err := client.Get(scheme + "://" + s.Addr().String() + "/readyz")
				if err == nil {
					got.Body.Close()
				}
				return got, err
			}
			if _, err := ask(); err != nil {
				t.Fatal(err)
			}
			overwrite(t, file, right+"bogus: 1\n")
			for range 5 {
				if got, err := ask(); err == nil && got.StatusCode != http.StatusInternalServerError {
					t.Error(got.Status)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			all := logged.All()
			if len(all) != 1 || all[0].ContextMap()["file"] != file ||
				!strings.Contains(fmt.Sprint(all[0].ContextMap()["error"]), "field bogus not found") {
				t.Errorf("logged: %+v", all)
			}
		})
	}
}
