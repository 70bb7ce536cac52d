package admin

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
)

// Access is where the admin API is, and what it asks its clients for.
type Access struct {
	// Address is "unix:///PATH", "tcp://HOST:PORT" or "http://HOST:PORT" of a loopback address, or "https://HOST:PORT".
	Address string
	// CACert is the path of the certificates, in PEM, that the server's is signed with. "": those of the system.
	CACert string
	// Cert and Key are the paths of a client certificate and its key, in PEM. Key "": the key is in Cert.
	Cert, Key string
	// User and Password are for basic authentication. User "": none.
	User, Password string
	// Open allows plain HTTP to an address that is no loopback address, too: nothing secret is said.
	Open bool
	// Own says that the daemon is on this machine. Without a CACert, its certificate is not verified.
	Own bool
}

// target is what a client connects to.
type target struct {
	network, address string // in the form of package net
	url              string // before the path
	tls              *tls.Config
}

func (a *Access) target() (*target, error) {
	if strings.HasPrefix(a.Address, "https://") {
		return a.secure()
	}
	if a.CACert != "" || a.Cert != "" || a.Key != "" {
		return nil, fmt.Errorf("%q: certificates are for https://HOST:PORT", clip(a.Address))
	}
	text := a.Address
	if rest, ok := strings.CutPrefix(text, "http://"); ok {
		text = "tcp://" + strings.TrimSuffix(rest, "/")
	}
	network, address, err := ParseAddress(text)
	if err != nil {
		return nil, fmt.Errorf("%w, or https://HOST:PORT", err)
	}
	if network == "tcp" && !a.Open && !isLoopbackAddress(address) {
		return nil, fmt.Errorf("%q: without TLS, only a loopback address is safe: write https://HOST:PORT", clip(a.Address))
	}
	return &target{network: network, address: address, url: "http://localhost"}, nil
}

func (a *Access) secure() (*target, error) {
	u, err := url.Parse(a.Address)
	if err != nil || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment != "" {
		return nil, fmt.Errorf("%q: write https://HOST:PORT", clip(a.Address))
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	t := &target{
		network: "tcp", address: net.JoinHostPort(u.Hostname(), port), url: "https://" + u.Host,
		tls: &tls.Config{MinVersion: tls.VersionTLS12},
	}
	if a.Own {
		t.tls.InsecureSkipVerify = a.CACert == "" //nolint:gosec // only this machine can answer
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsUnspecified() {
			t.tls.ServerName = "localhost"
		}
	}
	if a.CACert != "" {
		text, err := os.ReadFile(a.CACert)
		if err != nil {
			return nil, err
		}
		t.tls.RootCAs = x509.NewCertPool()
		if !t.tls.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: there is no certificate in PEM in it", a.CACert)
		}
	}
	switch {
	case a.Cert != "":
		key := a.Key
		if key == "" {
			key = a.Cert
		}
		pair, err := tls.LoadX509KeyPair(a.Cert, key)
		if err != nil {
			return nil, fmt.Errorf("the client certificate: %w", err)
		}
		t.tls.Certificates = []tls.Certificate{pair}
	case a.Key != "":
		return nil, errors.New("a key of a client certificate has no use without the certificate: write --cert, too")
	}
	return t, nil
}
