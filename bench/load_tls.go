package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/reactord/reactord/bench/engine"
)

// tlsFlags are the flags of all modes for a tls:// target.
type tlsFlags struct {
	Insecure bool    `help:"Accept any certificate of a tls:// target."`
	CA       string  `name:"ca" placeholder:"FILE" help:"Certificate authorities to trust (PEM), instead of those of the system."`
	SNI      string  `name:"sni" placeholder:"NAME" help:"The server's name for TLS. Default: the target's host."`
	Curves   []curve `placeholder:"NAME,…" help:"Offer only these key exchanges of TLS, such as X25519. Default: those of Go."`
	Resume   bool    `help:"Resume TLS sessions."`
}

func (f *tlsFlags) config(target engine.Target) (*tls.Config, error) {
	cfg := &tls.Config{InsecureSkipVerify: f.Insecure, ServerName: f.SNI} // --insecure asks for it
	if cfg.ServerName == "" {
		host, _, err := net.SplitHostPort(target.Host)
		if err != nil {
			return nil, err
		}
		cfg.ServerName = host
	}
	if f.CA != "" {
		text, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, err
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificate", f.CA)
		}
	}
	for _, c := range f.Curves {
		cfg.CurvePreferences = append(cfg.CurvePreferences, tls.CurveID(c))
	}
	if f.Resume {
		cfg.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	return cfg, nil
}

// curve is a key exchange of TLS as a flag.
type curve tls.CurveID

// curves has the key exchanges by the names that the daemon's configuration has, too.
var curves = map[string]tls.CurveID{"X25519MLKEM768": tls.X25519MLKEM768, "X25519": tls.X25519, "P-256": tls.CurveP256,
	"P-384": tls.CurveP384, "P-521": tls.CurveP521}

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *curve) UnmarshalText(text []byte) error {
	id, known := curves[string(text)]
	if !known {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(slices.Sorted(maps.Keys(curves)), ", "))
	}
	*c = curve(id)
	return nil
}
