package stream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
)

// served is a server of TLS with a certificate of ca, which wants one of the clients of mutual, if it is not nil.
func served(t *testing.T, ca, mutual *certstest.Authority, names ...string) Server {
	t.Helper()
	settings := certificate(ca.Pair(ca.Issue("server", certstest.Key(t), time.Hour, names...)))
	if mutual != nil {
		settings.ClientAuth, settings.ClientCAs = tls.RequireAndVerifyClientCert, mutual.Pool
	}
	return serve(t, settings, echo).at()
}

func certificate(c tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c}}
}

// works expects that a message comes back.
func works(t *testing.T, at Server) {
	t.Helper()
	c := config(at)
	c.Report = func(s State) {
		if s.Err != nil && !errors.Is(s.Err, errStop) {
			t.Error(s.Err)
		}
	}
	run(t, c, func(s *Stream) error {
		if got, err := ask(s, "x"); got != "x" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		return errStop
	})
}

func TestTLS(t *testing.T) {
	ca, other := certstest.New(t), certstest.New(t)
	local := served(t, ca, nil, "127.0.0.1", "localhost", "control.example")
	foreign := served(t, ca, nil, "control.example")
	mutual := served(t, ca, other, "127.0.0.1")
	expired := certificate(ca.Pair(ca.Issue("old", certstest.Key(t), -time.Hour, "127.0.0.1")))
	old := serve(t, expired, echo).at()
	own := PEM{File: other.Issue("client", certstest.Key(t), time.Hour)}
	text, err := os.ReadFile(ca.File)
	if err != nil {
		t.Fatal(err)
	}
	trust := PEM{File: ca.File}
	for name, c := range map[string]struct {
		at   Server
		tls  TLS
		fail string // empty: it works
	}{
		"the host of the address":  {local, TLS{CA: trust}, ""},
		"inline":                   {local, TLS{CA: PEM{Text: text}}, ""},
		"a name":                   {foreign, TLS{CA: trust, ServerName: "control.example"}, ""},
		"another host":             {foreign, TLS{CA: trust}, "doesn't contain any IP SANs"},
		"another name":             {local, TLS{CA: trust, ServerName: "other.example"}, "not other.example"},
		"any name":                 {foreign, TLS{CA: trust, AnyName: true}, ""},
		"any name, but of another": {foreign, TLS{CA: PEM{File: other.File}, AnyName: true}, "unknown authority"},
		"one of the names": {foreign, TLS{CA: trust, Names: []Name{
			{Kind: URI, How: Exact, Text: "control.example"}, {Kind: DNS, How: Suffix, Text: ".example"},
		}}, ""},
		"none of the names":   {foreign, TLS{CA: trust, Names: []Name{{Text: "x"}}}, "it is for control.example"},
		"a wrong authority":   {local, TLS{CA: PEM{File: other.File}}, "unknown authority"},
		"insecure":            {foreign, TLS{Insecure: true}, ""},
		"expired":             {old, TLS{CA: trust}, "expired"},
		"expired, any name":   {old, TLS{CA: trust, AnyName: true}, "expired"},
		"no own certificate":  {mutual, TLS{CA: trust}, "the server rejected TLS: tls: certificate required"},
		"a foreign one":       {mutual, TLS{CA: trust, Cert: PEM{File: ca.Issue("bad", certstest.Key(t), time.Hour)}}, ""},
		"mutual":              {mutual, TLS{CA: trust, Cert: own, Key: own}, ""},
		"key with the chain":  {mutual, TLS{CA: trust, Cert: own}, ""},
		"no such file":        {local, TLS{CA: PEM{File: "/nonexistent"}}, "/nonexistent"},
		"no certificate":      {local, TLS{CA: PEM{Text: []byte("x")}}, "no certificate in PEM form"},
		"a key that is none":  {mutual, TLS{CA: trust, Cert: own, Key: PEM{Text: []byte("x")}}, "certificate: "},
		"a server without h2": {served1(t, ca), TLS{CA: trust}, "does not speak HTTP/2"},
	} {
		t.Run(name, func(t *testing.T) {
			at := c.at
			at.TLS = c.tls.Config
			if name == "a foreign one" {
				c.fail = "the server rejected TLS: tls: unknown certificate authority"
			}
			if c.fail == "" {
				works(t, at)
				return
			}
			if err := failure(t, config(at), nil); !strings.Contains(err.Error(), c.fail) {
				t.Errorf("%v\nwant %s", err, c.fail)
			}
		})
	}
}

// served1 is a server without HTTP/2.
func served1(t *testing.T, ca *certstest.Authority) Server {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{ca.Pair(ca.Issue("one", certstest.Key(t), time.Hour, "127.0.0.1"))},
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	s := &http.Server{ErrorLog: discard}
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return Server{Network: "tcp", Address: l.Addr().String()}
}

// Each stream has the files as they are then.
func TestFilesAreReadAnew(t *testing.T) {
	ca, first, second := certstest.New(t), certstest.New(t), certstest.New(t)
	dir := t.TempDir()
	chain, token := filepath.Join(dir, "chain.pem"), filepath.Join(dir, "token")
	write := func(path string, text []byte) {
		if err := os.WriteFile(path+".new", text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	use := func(a *certstest.Authority, secret string) {
		text, err := os.ReadFile(a.Issue("client", certstest.Key(t), time.Hour, secret))
		if err != nil {
			t.Fatal(err)
		}
		write(chain, text)
		write(token, []byte(secret+"\n"))
	}
	pool := x509.NewCertPool()
	for _, a := range []*certstest.Authority{first, second} {
		text, err := os.ReadFile(a.File)
		if err != nil || !pool.AppendCertsFromPEM(text) {
			t.Fatal(err)
		}
	}
	seen := make(chan string, 10)
	settings := &tls.Config{
		Certificates: []tls.Certificate{ca.Pair(ca.Issue("server", certstest.Key(t), time.Hour, "127.0.0.1"))},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: pool,
	}
	at := serve(t, settings, func(c *call) {
		seen <- c.r.TLS.PeerCertificates[0].DNSNames[0] + " " + c.r.Header.Get("Authorization")
		echo(c)
	}).at()
	at.TLS = (&TLS{CA: PEM{File: ca.File}, Cert: PEM{File: chain}}).Config
	at.Metadata = []Metadata{{Key: "authorization", Value: "Bearer ", File: token}}

	use(first, "one")
	n := 0
	run(t, config(at), func(s *Stream) error {
		if got, err := ask(s, "x"); got != "x" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		n++
		want := [...]string{"", "one Bearer one", "two Bearer two"}[n]
		if got := within(t, seen); got != want {
			t.Errorf("the server has seen %q, want %q", got, want)
		}
		if n == 2 {
			return errStop
		}
		use(second, "two")
		if got, err := ask(s, "y"); got != "y" || err != nil { // the open stream continues
			t.Errorf("got %q, %v", got, err)
		}
		return nil
	})
}

func TestBadTokens(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	s := serve(t, nil, echo)
	for name, c := range map[string]struct {
		m    Metadata
		want string
	}{
		"missing":  {Metadata{Key: "a", File: filepath.Join(dir, "none")}, "no such file"},
		"empty":    {Metadata{Key: "a", File: file("empty", " \n")}, "the file is empty"},
		"binary":   {Metadata{Key: "a", File: file("binary", "secret\x00")}, `the token must be printable ASCII`},
		"long":     {Metadata{Key: "a", File: file("long", strings.Repeat("secret", maxToken))}, "limited to 65536 bytes"},
		"reserved": {Metadata{Key: "Grpc-Timeout", Value: "secret"}, "the key is reserved for gRPC: leave it out"},
		"host":     {Metadata{Key: "host", Value: "secret"}, "the key is reserved for gRPC: leave it out"},
		"none":     {Metadata{Value: "secret"}, "without a key"},
		"spaces":   {Metadata{Key: "a b", Value: "secret"}, `metadata "a b": use a-z, 0-9, '-', '_' and '.' only`},
		"lines":    {Metadata{Key: "a", Value: "secret\r\nb: c"}, `metadata "a": the value must be printable ASCII`},
		"bytes":    {Metadata{Key: "a-bin", Value: "secret"}, "binary values"},
	} {
		t.Run(name, func(t *testing.T) {
			at := s.at()
			at.Metadata = []Metadata{c.m}
			err := failure(t, config(at), nil)
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	uri, err := url.Parse("spiffe://trust/ns/a/sa/b")
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		DNSNames: []string{"a.example", "*.wild.example"}, URIs: []*url.URL{uri}, EmailAddresses: []string{"me@example"},
	}
	full, err := FullRegexp("spiffe://trust/.*|x")
	if err != nil {
		t.Fatal(err)
	}
	part, err := FullRegexp("trust")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := FullRegexp("a)(b"); err == nil {
		t.Error("parentheses that are not balanced are accepted")
	}
	for _, c2 := range []struct {
		name Name
		want bool
	}{
		{Name{Kind: DNS, Text: "a.example"}, true},
		{Name{Kind: DNS, Text: "A.EXAMPLE"}, true},
		{Name{Kind: DNS, Text: "b.example"}, false},
		{Name{Kind: URI, Text: "a.example"}, false},
		{Name{Text: "a.example"}, true},
		{Name{Kind: DNS, Text: "x.wild.example"}, true},
		{Name{Kind: DNS, Text: "x.y.wild.example"}, false},
		{Name{Kind: DNS, Text: "wild.example"}, false},
		{Name{Kind: URI, Text: "spiffe://trust/ns/a/sa/b"}, true},
		{Name{Kind: URI, Text: "SPIFFE://trust/ns/a/sa/b"}, false},
		{Name{Kind: URI, Text: "SPIFFE://trust/ns/a/sa/b", Fold: true}, true},
		{Name{Kind: URI, How: Prefix, Text: "spiffe://trust/"}, true},
		{Name{Kind: URI, How: Suffix, Text: "/sa/b"}, true},
		{Name{Kind: URI, How: Contains, Text: "/ns/"}, true},
		{Name{Kind: URI, How: Contains, Text: "/nz/"}, false},
		{Name{Kind: URI, How: Regexp, Regexp: full}, true},
		{Name{Kind: URI, How: Regexp, Regexp: part}, false},
		{Name{Kind: Email, Text: "me@example"}, true},
		{Name{Kind: IP, Text: "127.0.0.1"}, false},
	} {
		if got := c2.name.of(c); got != c2.want {
			t.Errorf("%+v: %v", c2.name, got)
		}
	}
}

// What waits for a handshake ends with the context.
func TestHandshakeEndsWithContext(t *testing.T) {
	accepted := make(chan bool, 1)
	at := raw(t, func(*net.TCPConn) { accepted <- true })
	at.TLS = (&TLS{}).Config
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan bool)
	go func() {
		defer close(done)
		Run(ctx, config(at), func(*Stream) error { return nil })
	}()
	within(t, accepted)
	cancel()
	within(t, done)
}
