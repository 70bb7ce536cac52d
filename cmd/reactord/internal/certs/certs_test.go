package certs

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"encoding/base64"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// issue makes a certificate with its key in one file.
func issue(
	a *certstest.Authority, name string, key crypto.Signer, expires time.Duration, names ...string,
) config.Certificate {
	return config.Certificate{Cert: a.Issue(name, key, expires, names...)}
}

func newKey(t *testing.T) crypto.Signer { return certstest.Key(t) }

func settings(all ...config.Certificate) *config.ServerTLS {
	s := config.NewListener().TLS
	s.Certificates = all
	return &s
}

// mustLoad loads without a problem.
func mustLoad(t *testing.T, s *config.ServerTLS) *Server {
	t.Helper()
	out, problems := LoadServer(s, nil)
	if len(problems) != 0 {
		t.Fatalf("%+v", problems)
	}
	return out
}

// The certificate is chosen by the name, and by what the client knows.
func TestNames(t *testing.T) {
	a := certstest.New(t)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s := settings(
		issue(a, "first", newKey(t), time.Hour, "first.test"),
		issue(a, "wild", newKey(t), time.Hour, "*.example.test"),
		issue(a, "exact", newKey(t), time.Hour, "a.example.test", "both.test"),
		issue(a, "rsa", rsaKey, time.Hour, "both.test"),
	)
	c := mustLoad(t, s).Config(s)
	for _, test := range []struct {
		name string
		want int
		ids  []tls.SignatureScheme
	}{
		{name: "", want: 0},
		{name: "unknown.test", want: 0},
		{name: "first.test", want: 0},
		{name: "A.Example.TEST.", want: 2},
		{name: "b.example.test", want: 1},
		{name: "c.b.example.test", want: 0},
		{name: "example.test", want: 0},
		{name: "both.test", want: 2, ids: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256}},
		{name: "both.test", want: 3, ids: []tls.SignatureScheme{tls.PSSWithSHA256}},
		{name: "", want: 3, ids: []tls.SignatureScheme{tls.PSSWithSHA256}},
		{name: "unknown.test", want: 3, ids: []tls.SignatureScheme{tls.PSSWithSHA256}},
	} {
		hello := &tls.ClientHelloInfo{
			ServerName: test.name, SignatureSchemes: test.ids, SupportedVersions: []uint16{tls.VersionTLS13},
		}
		got, err := c.GetCertificate(hello)
		if err != nil {
			t.Fatal(err)
		}
		if want := a.Pair(s.Certificates[test.want].Cert).Leaf; !got.Leaf.Equal(want) {
			t.Errorf("%q, %v: got the certificate for %v, want that for %v", test.name, test.ids, got.Leaf.DNSNames,
				want.DNSNames)
		}
	}
}

// What is wrong with a file is told with the file, and with its setting.
func TestProblems(t *testing.T) {
	a := certstest.New(t)
	good := issue(a, "good", newKey(t), time.Hour, "good.test")
	other := issue(a, "other", newKey(t), time.Hour, "other.test")
	expired := issue(a, "expired", newKey(t), -time.Hour, "old.test")
	empty := a.Write("empty", nil)
	bad := a.Write("bad", certstest.Block("CERTIFICATE", []byte("nonsense")))
	encrypted := a.Write("encrypted", certstest.Block("ENCRYPTED PRIVATE KEY", []byte("x")))
	with := func(c config.Certificate, key, staple string) *config.ServerTLS {
		c.Key, c.OCSP = key, staple
		return settings(c)
	}
	for name, test := range map[string]struct {
		settings *config.ServerTLS
		want     string // a part of the problem; "warning: " in front of a warning
	}{
		"missing":           {with(config.Certificate{Cert: "/nowhere"}, "", ""), "certificates[0].cert: open /nowhere"},
		"directory":         {with(config.Certificate{Cert: a.Dir}, "", ""), "is not a regular file"},
		"no certificate":    {with(config.Certificate{Cert: empty}, good.Cert, ""), "has no certificate in PEM"},
		"bad certificate":   {with(config.Certificate{Cert: bad}, good.Cert, ""), "certificates[0].cert: " + bad},
		"no key":            {with(good, a.Dir+"/ca.pem", ""), "certificates[0].key: " + a.Dir + "/ca.pem has no key"},
		"another key":       {with(good, other.Cert, ""), "certificates[0].key: the key in"},
		"encrypted":         {with(good, encrypted, ""), "key_password_file, or decrypt it, as with openssl pkey"},
		"expired":           {with(expired, "", ""), "warning: certificates[0].cert: the certificate in"},
		"staple":            {with(good, "", empty), "certificates[0].ocsp: " + empty},
		"staple of another": {with(good, "", a.Staple(other.Cert, ocsp.Good, time.Hour)), "OCSP response"},
	} {
		out, problems := LoadServer(test.settings, nil)
		if len(problems) != 1 {
			t.Errorf("%s: %d problems: %+v", name, len(problems), problems)
			continue
		}
		p := problems[0]
		text := p.Key + ": " + p.Text
		if p.Warning {
			text = "warning: " + text
		}
		if !strings.Contains(text, test.want) || (out != nil) != p.Warning {
			t.Errorf("%s: %s; loaded: %t", name, text, out != nil)
		}
	}
}

func TestStaples(t *testing.T) {
	a := certstest.New(t)
	c := issue(a, "cert", newKey(t), time.Hour, "good.test")
	for name, test := range map[string]struct {
		status  int
		next    time.Duration
		stapled bool
		want    string
	}{
		"good":    {ocsp.Good, time.Hour, true, ""},
		"expired": {ocsp.Good, -time.Hour, false, "expired on"},
		"revoked": {ocsp.Revoked, time.Hour, false, "was revoked"},
		"unknown": {ocsp.Unknown, time.Hour, false, "unknown to its authority"},
	} {
		c.OCSP = a.Staple(c.Cert, test.status, test.next)
		out, problems := LoadServer(settings(c), nil)
		if test.want == "" != (len(problems) == 0) || len(problems) == 1 && !strings.Contains(problems[0].Text, test.want) {
			t.Errorf("%s: %+v", name, problems)
		}
		if stapled := out != nil && out.certificates[0].OCSPStaple != nil; stapled != test.stapled {
			t.Errorf("%s: stapled: %t", name, stapled)
		}
	}
}

// Same tells whether any of the files has changed.
func TestSame(t *testing.T) {
	a := certstest.New(t)
	s := settings(issue(a, "cert", newKey(t), time.Hour, "good.test"))
	s.ClientCA, s.ClientAuth = filepath.Join(a.Dir, "ca.pem"), "require"
	first := mustLoad(t, s)
	if !first.Same(mustLoad(t, s)) {
		t.Error("the same files are not the same")
	}
	s.Certificates[0] = issue(a, "cert", newKey(t), time.Hour, "good.test")
	if second := mustLoad(t, s); first.Same(second) || first.Same(nil) || !(*Server)(nil).Same(nil) {
		t.Error("other files are the same")
	}
	if e := first.Expiries(); len(e) != 1 || e[0].Name != "good.test" || time.Until(e[0].At) > time.Hour {
		t.Errorf("%+v", e)
	}
}

func TestClient(t *testing.T) {
	a := certstest.New(t)
	pair := issue(a, "cert", newKey(t), time.Hour, "client.test")
	b := config.NewBackend()
	c := &b.TLS
	if out, problems := LoadClient(c, nil); out != nil || problems != nil {
		t.Error("TLS is not enabled, and something is read")
	}
	c.Enabled, c.CA, c.Cert = true, filepath.Join(a.Dir, "ca.pem"), pair.Cert
	out, problems := LoadClient(c, nil)
	if len(problems) != 0 {
		t.Fatalf("%+v", problems)
	}
	if got := out.Config(c); len(got.Certificates) != 1 || got.VerifyConnection == nil ||
		got.MinVersion != tls.VersionTLS12 {
		t.Errorf("%+v", got)
	}
	c.CA = pair.Cert + "x"
	if out, problems := LoadClient(c, nil); out != nil || len(problems) != 1 || problems[0].Key != "ca" {
		t.Errorf("%+v", problems)
	}
}

// pair is a connection. It has buffers, as TLS wants: with a ticket, a server may write before it reads.
func pair(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if ours, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if theirs, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

// connect has a client and a server talk, and reports whether the session was resumed.
func connect(t *testing.T, server, client *tls.Config) bool {
	t.Helper()
	ours, theirs := pair(t)
	defer ours.Close()
	done := make(chan error, 1)
	go func() {
		defer theirs.Close()
		s := tls.Server(theirs, server)
		_, err := s.Write([]byte("x"))
		if err == nil {
			err = s.Close()
		}
		done <- err
	}()
	c := tls.Client(ours, client)
	if _, err := io.ReadAll(c); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return c.ConnectionState().DidResume
}

// Sessions are resumed with the keys of the process before this one, and after the keys have changed, but not where
// other rules for clients hold.
func TestTickets(t *testing.T) {
	a := certstest.New(t)
	s := settings(issue(a, "cert", newKey(t), time.Hour, "good.test"))
	keys := mustLoad(t, s)
	first := NewTickets(nil)
	config := func(k *Tickets, s *config.ServerTLS, keys *Server) *tls.Config {
		c := keys.Config(s)
		k.Serve(keys, c)
		return c
	}
	client := &tls.Config{RootCAs: a.Pool, ServerName: "good.test", ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	if connect(t, config(first, s, keys), client) {
		t.Error("the first session is resumed")
	}
	next := NewTickets(first.Keys())
	if !connect(t, config(next, s, keys), client) {
		t.Error("the next process does not resume a session")
	}
	if at := next.Rotate(time.Now().Add(25 * time.Hour)); len(next.Keys()) != 2 || time.Until(at) < 24*time.Hour {
		t.Errorf("%d keys, again at %v", len(next.Keys()), at)
	}
	if !connect(t, config(next, s, keys), client) {
		t.Error("a session is not resumed after a day")
	}
	strict := *s
	strict.ClientAuth, strict.ClientCA = "request", filepath.Join(a.Dir, "ca.pem")
	if connect(t, config(next, &strict, mustLoad(t, &strict)), client) {
		t.Error("a session is resumed where other rules for clients hold")
	}
	for i := range 20 {
		next.Rotate(time.Now().Add(time.Duration(25*(i+2)) * time.Hour))
	}
	if n := len(next.Keys()); n != keysKept {
		t.Errorf("%d keys are kept", n)
	}
	none := *s
	none.Tickets = false
	if connect(t, config(next, &none, keys), client); connect(t, config(next, &none, keys), client) {
		t.Error("a session is resumed without tickets")
	}
}

func TestTicketKeys(t *testing.T) {
	a := certstest.New(t)
	s := settings(issue(a, "cert", newKey(t), time.Hour, "good.test"))
	line := base64.StdEncoding.EncodeToString(make([]byte, 32))
	s.TicketKeys = a.Write("keys", []byte("# comment\n"+line+"\n\n"+line+"\n"))
	if n := len(mustLoad(t, s).tickets); n != 2 {
		t.Errorf("%d keys", n)
	}
	for _, text := range []string{"", "# nothing", "short", line + "AA", strings.Repeat(line+"\n", maxKeys+1)} {
		a.Write("keys", []byte(text))
		if out, problems := LoadServer(s, nil); out != nil || len(problems) != 1 || problems[0].Key != "ticket_keys" {
			t.Errorf("%.20q: %+v", text, problems)
		}
	}
}

func TestCiphers(t *testing.T) {
	if got := suites([]string{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}); len(got) != 1 || suites(nil) != nil {
		t.Errorf("%v", got)
	}
	for _, name := range config.Curves {
		if ids := exchanges([]string{name}); len(ids) != 1 || ids[0] == 0 {
			t.Errorf("%s is not known", name)
		}
	}
	for _, name := range config.Ciphers {
		if len(suites([]string{name})) != 1 {
			t.Errorf("%s is not known", name)
		}
	}
}
