package tlscause_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/tlscause"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/clienthello"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/starttls"
)

// world is what the sides of a handshake have.
type world struct {
	ca, other      *certstest.Authority
	client, server *tls.Config
}

func newWorld(t *testing.T) *world {
	w := &world{ca: certstest.New(t), other: certstest.New(t)}
	w.server = &tls.Config{Certificates: []tls.Certificate{w.pair(t, w.ca, time.Hour, "a.test")}, ClientCAs: w.ca.Pool}
	w.client = &tls.Config{RootCAs: w.ca.Pool, ServerName: "a.test"}
	return w
}

func (w *world) pair(t *testing.T, ca *certstest.Authority, expires time.Duration, name string) tls.Certificate {
	return ca.Pair(ca.Issue("cert", certstest.Key(t), expires, name))
}

// shows has the client show a certificate, whatever authorities the server asks for.
func (w *world) shows(pair tls.Certificate) {
	w.server.ClientAuth = tls.RequireAndVerifyClientCert
	w.client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
}

// handshake returns how both sides end.
func (w *world) handshake(t *testing.T, version uint16) (client, server error) {
	t.Helper()
	a, b := net.Pipe()
	if w.client.MaxVersion == 0 {
		w.client.MaxVersion = version
	}
	done := make(chan error, 1)
	go func() {
		c := tls.Server(b, w.server)
		err := c.Handshake()
		if err == nil {
			_, err = c.Write([]byte("x"))
		}
		b.Close()
		done <- err
	}()
	c := tls.Client(a, w.client)
	client = c.Handshake()
	if client == nil { // in TLS 1.3 the server's alert comes later
		_, client = c.Read(make([]byte, 1))
	}
	a.Close()
	return client, <-done
}

// The texts of crypto/tls are recognized.
func TestOfHandshakes(t *testing.T) {
	for name, test := range map[string]struct {
		set            func(*world)
		client, server tlscause.Cause
	}{
		"good": {func(*world) {}, tlscause.None, tlscause.None},
		"versions": {func(w *world) {
			w.client.MinVersion, w.client.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		}, tlscause.Alert, tlscause.Version},
		"ciphers": {func(w *world) {
			w.client.MaxVersion = tls.VersionTLS12
			w.client.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}
			w.server.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}
		}, tlscause.Alert, tlscause.Cipher},
		"key exchanges": {func(w *world) {
			w.client.CurvePreferences, w.server.CurvePreferences = []tls.CurveID{tls.X25519}, []tls.CurveID{tls.CurveP384}
		}, tlscause.Alert, tlscause.Cipher},
		"protocols": {func(w *world) { w.client.NextProtos, w.server.NextProtos = []string{"a"}, []string{"b"} },
			tlscause.UnknownProtocol, tlscause.Protocol},
		"no certificate": {func(w *world) { w.server.ClientAuth = tls.RequireAndVerifyClientCert },
			tlscause.Alert, tlscause.NoCertificate},
		"client untrusted": {func(w *world) { w.shows(w.pair(t, w.other, time.Hour, "c.test")) },
			tlscause.Alert, tlscause.Untrusted},
		"client expired": {func(w *world) { w.shows(w.pair(t, w.ca, -time.Hour, "c.test")) },
			tlscause.Alert, tlscause.Expired},
		"server untrusted": {func(w *world) { w.client.RootCAs = w.other.Pool }, tlscause.Untrusted, tlscause.Alert},
		"server expired": {func(w *world) {
			w.server.Certificates[0] = w.pair(t, w.ca, -time.Hour, "a.test")
		}, tlscause.Expired, tlscause.Alert},
		"other name": {func(w *world) { w.client.ServerName = "b.test" }, tlscause.WrongName, tlscause.Alert},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			w := newWorld(t)
			test.set(w)
			client, server := w.handshake(t, version)
			if c, s := tlscause.Of(client), tlscause.Of(server); c != test.client || s != test.server {
				t.Errorf("%s, %s: client %q (%v), server %q (%v); want %q, %q", name, tls.VersionName(version), c, client, s,
					server, test.client, test.server)
			}
		}
	}
}

// What does not speak TLS, or ends, is told from what does.
func TestOfBytes(t *testing.T) {
	for text, want := range map[string]tlscause.Cause{
		"GET / HTTP/1.1\r\n\r\n":               tlscause.NotTLS,
		"":                                     tlscause.Closed,
		"\x16\x03\x01":                         tlscause.Closed,
		"\x15\x03\x03\x00\x02\x02\x70":         tlscause.UnknownName,
		"\x15\x03\x03\x00\x02\x02\x28":         tlscause.Alert,
		"\x16\x03\x03\x00\x04\x14\x00\x00\x00": tlscause.Violation,
	} {
		a, b := net.Pipe()
		go func() {
			_, _ = io.WriteString(a, text)
			a.Close()
		}()
		if err := tls.Server(b, newWorld(t).server).Handshake(); tlscause.Of(err) != want {
			t.Errorf("%q: %q (%v), want %q", text, tlscause.Of(err), err, want)
		}
	}
}

func TestOfErrors(t *testing.T) {
	for _, test := range []struct {
		error
		tlscause.Cause
	}{
		{nil, tlscause.None},
		{os.ErrDeadlineExceeded, tlscause.Timeout},
		{syscall.ECONNRESET, tlscause.Closed},
		{fmt.Errorf("%w: N", starttls.ErrRefused), tlscause.Refused},
		{fmt.Errorf("%w: HTTP", starttls.ErrProtocol), tlscause.NotTLS},
		{fmt.Errorf("%w: HTTP", clienthello.ErrNotTLS), tlscause.NotTLS},
		{clienthello.ErrTooLong, tlscause.BadHello},
		{&tls.CertificateVerificationError{Err: fmt.Errorf("%w: x", certs.ErrName)}, tlscause.WrongName},
		{&tls.CertificateVerificationError{Err: fmt.Errorf("%w: x", certs.ErrRevoked)}, tlscause.Revoked},
		{&tls.CertificateVerificationError{Err: fmt.Errorf("%w: x", certs.ErrCostly)}, tlscause.TooCostly},
		{&tls.CertificateVerificationError{Err: io.ErrNoProgress}, tlscause.BadCertificate},
		{io.ErrNoProgress, tlscause.Violation},
	} {
		if got := tlscause.Of(test.error); got != test.Cause {
			t.Errorf("%v: %q, want %q", test.error, got, test.Cause)
		}
	}
	manual, err := os.ReadFile("../../../../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tlscause.Names() {
		if !strings.Contains(string(manual), "`"+name+"`") {
			t.Errorf("docs/operating.md does not explain %s", name)
		}
	}
	names := slices.Sorted(slices.Values(tlscause.Names()))
	if slices.Contains(names, "") || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("%v", names)
	}
}
