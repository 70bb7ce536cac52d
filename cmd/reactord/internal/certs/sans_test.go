package certs

import (
	"crypto/tls"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// A certificate needs one of the names.
func TestSANs(t *testing.T) {
	a := certstest.New(t)
	leaf := a.Pair(a.Issue("all", newKey(t), time.Hour,
		"a.example.test", "*.Wild.test", "192.0.2.1", "2001:db8::1", "spiffe://example.test/ns/a/sa/b")).Leaf
	for text, want := range map[string]bool{
		"any":                                 true,
		"dns:a.example.test":                  true,
		"dns:A.EXAMPLE.test":                  true,
		"dns:b.example.test":                  false,
		"dns:x.wild.test":                     true,
		"dns:x.y.wild.test":                   false,
		"dns:wild.test":                       false,
		"dns:*.wild.test":                     true,
		"dns-prefix:a.":                       true,
		"dns-suffix:.example.test":            true,
		"dns-contains:xampl":                  true,
		"dns-suffix:.example.org":             false,
		"dns:192.0.2.1":                       false,
		"ip:192.0.2.1":                        true,
		"ip:::ffff:192.0.2.1":                 true,
		"ip:2001:DB8:0::1":                    true,
		"ip:192.0.2.2":                        false,
		"uri:spiffe://example.test/ns/a/sa/b": true,
		"uri:spiffe://EXAMPLE.test/ns/a/sa/b": false,
		"uri:spiffe://example.test/ns/a/sa":   false,
		"uri-prefix:spiffe://example.test/":   true,
		"uri-suffix:/sa/b":                    true,
		"uri-regex:^spiffe://[^/]+/ns/a/.*$":  true,
		"uri-regex:spiffe://[^/]+/ns/a":       false,
		"uri-regex:x|spiffe://.*":             true,
		"dns-regex:[a-z]\\.example\\.test":    true,
		"email:a@example.test":                false,
	} {
		if got := newSANs([]string{"dns:none.test", text}, byWildcards).match(leaf); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// A client's wildcard is not one of the clients that it stands for, and it hides none that is denied.
func TestWildcardsOfClients(t *testing.T) {
	a := certstest.New(t)
	one := a.Pair(a.Issue("one", newKey(t), time.Hour, "a.example.test")).Leaf
	wild := a.Pair(a.Issue("wild", newKey(t), time.Hour, "*.example.test")).Leaf
	names := newSANs([]string{"dns:a.example.test"}, literally)
	if !names.match(one) || names.match(wild) {
		t.Errorf("%t, %t; want true, false", names.match(one), names.match(wild))
	}
	if newDenied([]string{"dns:a.example.test"}).verify(wild) == nil {
		t.Error("a wildcard hides a name that is denied")
	}
	allow := newDenied([]string{"except dns:a.example.test", "any"})
	if allow.verify(one) != nil || allow.verify(wild) == nil {
		t.Errorf("%v, %v; want no error and one", allow.verify(one), allow.verify(wild))
	}
}

// handshake has a client and a server shake hands, and returns what both say.
func handshake(t *testing.T, server, client *tls.Config) (atServer, atClient error) {
	t.Helper()
	ours, theirs := pair(t)
	done := make(chan error, 1)
	go func() {
		s := tls.Server(theirs, server)
		err := s.Handshake()
		if err == nil {
			_, err = s.Write([]byte("x"))
		}
		theirs.Close()
		done <- err
	}()
	c := tls.Client(ours, client)
	atClient = c.Handshake()
	if atClient == nil {
		_, _ = c.Read(make([]byte, 1)) // the alert of a server that refuses, and tickets
	}
	ours.Close()
	return <-done, atClient
}

// A backend's names are verified instead of the name that is asked for, in sessions that are resumed, too.
func TestServersNames(t *testing.T) {
	a, other := certstest.New(t), certstest.New(t)
	s := settings(issue(a, "cert", newKey(t), time.Hour, "a.test", "spiffe://a.test/x"))
	server := mustLoad(t, s).Config(s)
	for name, test := range map[string]struct {
		names []string
		asks  string
		ca    string
		want  string
	}{
		"the name asked for":   {asks: "a.test", ca: a.File},
		"another":              {asks: "b.test", ca: a.File, want: "not b.test"},
		"a SAN":                {names: []string{"uri:spiffe://a.test/x"}, asks: "b.test", ca: a.File},
		"no name is asked for": {names: []string{"dns:b.test", "uri-prefix:spiffe://a.test/"}, asks: ".", ca: a.File},
		"any":                  {names: []string{"any"}, asks: "b.test", ca: a.File},
		"another SAN": {names: []string{"uri:spiffe://a.test/y"}, asks: "a.test", ca: a.File,
			want: "spiffe://a.test/y"},
		"any of another authority": {names: []string{"any"}, asks: "a.test", ca: other.File, want: "unknown authority"},
		"a SAN of another": {names: []string{"dns:a.test"}, asks: "a.test", ca: other.File,
			want: "unknown authority"},
	} {
		c := config.NewBackend().TLS
		c.Enabled, c.CA, c.ServerName, c.SANs = true, test.ca, test.asks, test.names
		keys, problems := LoadClient(&c, nil)
		if len(problems) != 0 {
			t.Fatalf("%+v", problems)
		}
		made := keys.Config(&c)
		for _, config := range []*tls.Config{made, made.Clone(), keys.Check(strings.TrimSuffix(test.asks, "."))} {
			if _, err := handshake(t, server, config); (err == nil) != (test.want == "") ||
				err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A dot asks for no name.
func TestNoNameIsAskedFor(t *testing.T) {
	a := certstest.New(t)
	s := settings(issue(a, "cert", newKey(t), time.Hour, "a.test"))
	for name, want := range map[string]string{".": "", "b.test": "b.test"} {
		c := config.NewBackend().TLS
		c.Enabled, c.CA, c.ServerName, c.SANs = true, a.File, name, []string{"dns:a.test"}
		keys, _ := LoadClient(&c, nil)
		asked := "nothing yet"
		server := mustLoad(t, s).Config(s)
		server.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			asked = hello.ServerName
			return nil, nil //nolint:nilnil // the configuration stays
		}
		if _, err := handshake(t, server, keys.Config(&c)); err != nil || asked != want {
			t.Errorf("%s: asks for %q: %v", name, asked, err)
		}
	}
}

// A client's certificate needs one of the names, and a change of them ends tickets.
func TestClientsNames(t *testing.T) {
	a := certstest.New(t)
	s := settings(issue(a, "cert", newKey(t), time.Hour, "a.test"))
	s.ClientCA, s.ClientAuth, s.ClientSANs = a.File, "require", []string{"uri:spiffe://a.test/client"}
	client := func(names ...string) *tls.Config {
		pair := a.Pair(a.Issue("client", newKey(t), time.Hour, names...))
		return &tls.Config{RootCAs: a.Pool, ServerName: "a.test", Certificates: []tls.Certificate{pair},
			ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	}
	first := mustLoad(t, s)
	tickets := NewTickets(nil)
	serve := func(keys *Server) *tls.Config {
		c := keys.Config(s)
		tickets.Serve(keys, c)
		return c
	}
	if err, _ := handshake(t, serve(first), client("spiffe://a.test/other")); err == nil ||
		!strings.Contains(err.Error(), "spiffe://a.test/client") || !strings.Contains(err.Error(), "spiffe://a.test/other") {
		t.Error(err)
	}
	good := client("spiffe://a.test/client")
	if connect(t, serve(first), good); !connect(t, serve(first), good) {
		t.Error("the session is not resumed")
	}
	s.ClientSANs = append(s.ClientSANs, "dns:b.test")
	second := mustLoad(t, s)
	if first.Same(second) {
		t.Error("other names are the same")
	}
	if connect(t, serve(second), good) {
		t.Error("a session is resumed where other names count")
	}
}

// Files may be in memory.
func TestRead(t *testing.T) {
	a := certstest.New(t)
	path := a.Issue("cert", newKey(t), time.Hour, "a.test")
	var asked []string
	read := func(name string) ([]byte, error) {
		asked = append(asked, name)
		if name != "xds://secret/pair" {
			return nil, fs.ErrNotExist
		}
		return os.ReadFile(path)
	}
	s := settings(config.Certificate{Cert: "xds://secret/pair"})
	keys, problems := LoadServer(s, read)
	if keys == nil || len(problems) != 0 || !slices.Equal(asked, []string{"xds://secret/pair"}) {
		t.Errorf("%v, %+v", asked, problems)
	}
	s.ClientCA = filepath.Join(a.Dir, "ca.pem")
	if keys, problems := LoadServer(s, read); keys != nil || len(problems) != 1 ||
		!errors.Is(problems[0].Err, fs.ErrNotExist) {
		t.Errorf("%+v", problems)
	}
}

// A client's certificate must not have a name that is denied, when its session is resumed neither.
func TestClientsDenied(t *testing.T) {
	a := certstest.New(t)
	s := settings(issue(a, "cert", newKey(t), time.Hour, "a.test"))
	s.ClientCA, s.ClientAuth = a.File, "require"
	pair := a.Pair(a.Issue("client", newKey(t), time.Hour, "spiffe://a.test/client"))
	client := &tls.Config{RootCAs: a.Pool, ServerName: "a.test", Certificates: []tls.Certificate{pair},
		ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	tickets, first := NewTickets(nil), mustLoad(t, s)
	serve := func(denied ...string) *tls.Config {
		s.DenySANs = denied
		keys := mustLoad(t, s)
		if keys.Same(first) != (len(denied) == 0) {
			t.Errorf("%v: the fingerprint is wrong", denied)
		}
		c := keys.Config(s)
		tickets.Serve(first, c) // the tickets stay good
		return c
	}
	connect(t, serve(), client)
	if !connect(t, serve("uri:spiffe://a.test/other"), client) {
		t.Error("the session is not resumed")
	}
	if !connect(t, serve("except uri:spiffe://a.test/client", "any"), client) {
		t.Error("an exception is refused")
	}
	denied := serve("uri-prefix:spiffe://a.test/")
	for range 2 { // with a session, and without
		if err, _ := handshake(t, denied, client); err == nil || !strings.Contains(err.Error(), "a denied name") {
			t.Error(err)
		}
		client.ClientSessionCache = nil
	}
}
