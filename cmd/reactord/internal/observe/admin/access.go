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

// Access is the address of the admin API, with credentials.
type Access struct {
	// Address is "unix:///PATH", "tcp://HOST:PORT" or "http://HOST:PORT" with a loopback address, or
	// "https://HOST:PORT".
	Address string
	// CACert is a file with the certificates of trusted authorities, in PEM, or "" for the system's.
	CACert string
	// Cert and Key are files of a client certificate and its key, in PEM. With Key "", the key is in Cert.
	Cert, Key string
	// User and Password are for basic authentication, unless User is "".
	User, Password string
	// Open allows plain HTTP to other than loopback addresses, for requests without secrets.
	Open bool
	// Own says that the daemon is on this machine. Its certificate is then verified only if CACert is set.
	Own bool
}

// target is the address that a client connects to.
type target struct {
	network, address string // in the form of package net
	url              string // URL up to the path
	tls              *tls.Config
}

func (a *Access) target() (*target, error) {
	if strings.HasPrefix(a.Address, "https://") {
		return a.secure()
	}
	if a.CACert != "" || a.Cert != "" || a.Key != "" {
		return nil, fmt.Errorf("%q: certificates require https://HOST:PORT", clip(a.Address))
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
		return nil, fmt.Errorf("%q: plain HTTP requires a loopback address: write https://HOST:PORT", clip(a.Address))
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
			return nil, fmt.Errorf("%s: no certificate in PEM", a.CACert)
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
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		t.tls.Certificates = []tls.Certificate{pair}
	case a.Key != "":
		return nil, errors.New("--key requires --cert: write it, too")
	}
	return t, nil
}
