package certs

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Certificates that were revoked are refused on both sides, with names of their own and without.
func TestRevoked(t *testing.T) {
	a, other := certstest.New(t), certstest.New(t)
	server, client := issue(a, "server", newKey(t), time.Hour, "a.test"), issue(a, "client", newKey(t), time.Hour,
		"b.test")
	for name, test := range map[string]struct {
		list          string
		names         []string
		ofClient      bool
		want, problem string
	}{
		"none":              {list: a.Revoke("none", time.Hour)},
		"none, with names":  {list: a.Revoke("none", time.Hour), names: []string{"dns:a.test"}},
		"server":            {list: a.Revoke("server", time.Hour, server.Cert), want: "was revoked"},
		"server with names": {list: a.Revoke("server", time.Hour, server.Cert), names: []string{"any"}, want: "was revoked"},
		"expired":           {list: a.Revoke("expired", -time.Hour), want: "expired on", problem: "expired on"},
		"of clients, none":  {list: a.Revoke("none", time.Hour), ofClient: true},
		"client":            {list: a.Revoke("client", time.Hour, client.Cert), ofClient: true, want: "was revoked"},
		"another authority": {list: other.Revoke("other", time.Hour), problem: "crl: "},
		"no list":           {list: a.File, problem: "has no certificate revocation list in PEM"},
	} {
		s := settings(server)
		s.ClientCA, s.ClientAuth = a.File, "require"
		c := config.NewBackend().TLS
		c.Enabled, c.CA, c.ServerName, c.SANs, c.Cert = true, a.File, "a.test", test.names, client.Cert
		if test.ofClient {
			s.ClientCRL = test.list
		} else {
			c.CRL = test.list
		}
		ofServer, wrong := LoadServer(s, nil)
		ofClient, also := LoadClient(&c, nil)
		problems := append(wrong, also...)
		if len(problems) != 0 != (test.problem != "") || len(problems) > 0 &&
			!strings.Contains(problems[0].Key+": "+problems[0].Text, test.problem) {
			t.Errorf("%s: %+v", name, problems)
		}
		if ofServer == nil || ofClient == nil {
			continue
		}
		for _, made := range []*tls.Config{ofClient.Config(&c), ofClient.Check("a.test")} {
			atServer, atClient := handshake(t, ofServer.Config(s), made)
			err := atClient
			if test.ofClient {
				err = atServer
			}
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, %v", name, atServer, atClient)
			}
		}
	}
}

// A list that is loaded anew ends sessions of what it revokes.
func TestRevokedSession(t *testing.T) {
	a := certstest.New(t)
	client := issue(a, "client", newKey(t), time.Hour, "b.test")
	s := settings(issue(a, "server", newKey(t), time.Hour, "a.test"))
	s.ClientCA, s.ClientAuth, s.ClientCRL = a.File, "require", a.Revoke("list", time.Hour)
	tickets := NewTickets(nil)
	with := &tls.Config{
		RootCAs: a.Pool, ServerName: "a.test", Certificates: []tls.Certificate{a.Pair(client.Cert)},
		ClientSessionCache: tls.NewLRUClientSessionCache(0),
	}
	serve := func() *tls.Config {
		keys := mustLoad(t, s)
		c := keys.Config(s)
		tickets.Serve(keys, c)
		return c
	}
	first := mustLoad(t, s)
	if connect(t, serve(), with); !connect(t, serve(), with) {
		t.Error("a session is not resumed")
	}
	a.Revoke("list", time.Hour, client.Cert)
	if first.Same(mustLoad(t, s)) {
		t.Error("another list is the same")
	}
	if err, _ := handshake(t, serve(), with); err == nil || !strings.Contains(err.Error(), "was revoked") {
		t.Error(err)
	}
}
