package translate

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/tlspb"
)

// clientTLS is an UpstreamTlsContext.
type clientTLS struct {
	common
	sni    string
	verify bool // verify the certificate for sni
}

// decodeClientTLS decodes an UpstreamTlsContext. origin prefixes the paths of inline certificates.
func decodeClientTLS(r reading, m *tlspb.UpstreamTlsContext, origin string) *clientTLS {
	t := &clientTLS{sni: m.Sni, verify: m.AutoSniSanValidation}
	t.common = decodeCommon(r.at("common_tls_context"), m.CommonTlsContext, origin)
	if n := len(t.pairs) + len(t.pairSecrets); n > 1 {
		r.at("common_tls_context").refuse("only one certificate is supported, not %d", n)
	}
	if t.sni != "" && !isHost(t.sni) {
		r.at("sni").refuse("%q is not a server name", t.sni)
	}
	r.at("auto_host_sni").only(!m.AutoHostSni, "not supported: write sni")
	r.at("auto_sni_san_validation").only(!t.verify || t.sni != "", "requires sni")
	r.at("allow_renegotiation").only(!m.AllowRenegotiation, "renegotiation is not supported")
	if t.validationSecret == "" && t.foreign == "" {
		r.at("auto_sni_san_validation").only(!t.verify || t.validation.trusted(), unverified)
		if !t.validation.trusted() {
			r.at("common_tls_context").remark("certificates of servers are not verified without trusted_ca")
		}
	}
	return t
}

const unverified = "certificates cannot be verified without authorities: write trusted_ca, too"

const untrusted = "names of certificates require authorities: write trusted_ca, too"

// Secrets returns the names of the secrets that it needs. t may be nil.
func (t *clientTLS) Secrets() []string {
	if t == nil || t.foreign != "" {
		return nil
	}
	return t.secrets()
}

// madeTLS is the TLS configuration for servers, cached because parsing certificates takes long.
type madeTLS struct {
	of       *clientTLS
	pairs    []pair
	verified *validation
	config   config.ClientTLS
	keys     *certs.Client
}

// tls returns the configuration of t with the secrets of s, cached as long as those are the same. It may be called
// from any goroutine.
func (c *Cluster) tls(t *clientTLS, s *Set) (*madeTLS, error) {
	pairs, v, err := t.resolve(s)
	if err != nil {
		return nil, err
	}
	if m := c.made.Load(); m != nil && m.of == t && slices.Equal(m.pairs, pairs) && reflect.DeepEqual(m.verified, v) {
		return m, nil
	}
	m := &madeTLS{of: t, pairs: pairs, verified: v}
	if m.config, m.keys, err = t.build(pairs, v); err != nil {
		return nil, err
	}
	c.made.Store(m)
	return m, nil
}

// build returns the settings of a backend and what they hold.
func (t *clientTLS) build(pairs []pair, v *validation) (config.ClientTLS, *certs.Client, error) {
	c, f := config.NewBackend().TLS, files{}
	c.Enabled, c.ServerName = true, cmp.Or(t.sni, ".")
	c.MinVersion, c.MaxVersion, c.Ciphers, c.Curves, c.ALPN = t.minVersion, t.maxVersion, t.ciphers, t.curves, t.alpn
	for _, p := range pairs {
		one := p.add(f)
		c.Cert, c.Key = one.Cert, one.Key
	}
	if v.trusted() {
		c.CA, c.CRL = f.add(v.ca), f.add(v.crl)
	}
	switch {
	case !v.trusted() && t.verify:
		return c, nil, errors.New("auto_sni_san_validation: " + unverified)
	case !v.trusted():
		c.Insecure = true // as in Envoy
	case t.verify: // verify this name instead of others
	case len(v.sans()) == 0:
		c.SANs = []string{config.AnySAN}
	default:
		c.SANs = v.sans()
	}
	keys, found := certs.LoadClient(&c, f.read)
	return c, keys, problems(found)
}

// resolve returns the certificates and the validation context, including those of secrets.
func (c *common) resolve(s *Set) (pairs []pair, v *validation, err error) {
	pairs, v = c.pairs, c.validation
	for _, name := range c.pairSecrets {
		switch secret := s.Secrets[name]; {
		case secret == nil:
			return nil, nil, fmt.Errorf("secret %q does not exist", name)
		case secret.pair == nil:
			return nil, nil, fmt.Errorf("secret %q is not a certificate", name)
		default:
			pairs = append(slices.Clip(pairs), *secret.pair)
		}
	}
	if name := c.validationSecret; name != "" {
		switch secret := s.Secrets[name]; {
		case secret == nil:
			return nil, nil, fmt.Errorf("secret %q does not exist", name)
		case secret.validation == nil:
			return nil, nil, fmt.Errorf("secret %q is not a validation context", name)
		default:
			v = v.with(secret.validation)
		}
	}
	return pairs, v, v.fault()
}
