package translate

import (
	"errors"
	"fmt"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/tlspb"
)

// clientTLS is what an UpstreamTlsContext says.
type clientTLS struct {
	common
	sni    string
	verify bool // the certificate must have the name sni
}

// decodeClientTLS reads an UpstreamTlsContext. origin is where inline certificates come from.
func decodeClientTLS(r reading, m *tlspb.UpstreamTlsContext, origin string) *clientTLS {
	t := &clientTLS{sni: m.Sni, verify: m.AutoSniSanValidation}
	t.common = decodeCommon(r.at("common_tls_context"), m.CommonTlsContext, origin)
	if n := len(t.pairs) + len(t.pairSecrets); n > 1 {
		r.at("common_tls_context").refuse("reactord shows servers one certificate, not %d", n)
	}
	if t.sni != "" && !isHost(t.sni) {
		r.at("sni").refuse("%q is not the name of a server", t.sni)
	}
	r.at("auto_host_sni").only(!m.AutoHostSni, "the name that is asked for is sni: write it")
	r.at("auto_sni_san_validation").only(!t.verify || t.sni != "", "there is no sni whose name a certificate could have")
	r.at("allow_renegotiation").only(!m.AllowRenegotiation, "TLS is not renegotiated")
	if v := t.validation; t.validationSecret == "" && t.foreign == "" && v != nil {
		r.at("common_tls_context").only(len(v.sans) == 0 || v.ca != (file{}) || v.system, untrusted)
	}
	return t
}

const untrusted = "names of certificates say nothing without authorities: write trusted_ca, too"

// Secrets are the names of the secrets that it needs. t may be nil.
func (t *clientTLS) Secrets() []string {
	if t == nil || t.foreign != "" {
		return nil
	}
	return t.secrets()
}

// build makes the settings of a backend and what they hold. t may be nil.
func (t *clientTLS) build(b *backend, s *Set) error {
	if t == nil {
		return nil
	}
	c, f := &b.config.TLS, files{}
	c.Enabled, c.ServerName = true, t.sni
	c.MinVersion, c.MaxVersion, c.Ciphers, c.Curves, c.ALPN = t.minVersion, t.maxVersion, t.ciphers, t.curves, t.alpn
	pairs, v, err := t.resolve(s)
	if err != nil {
		return err
	}
	for _, p := range pairs {
		one := p.add(f)
		c.Cert, c.Key = one.Cert, one.Key
	}
	switch {
	case v == nil || v.ca == (file{}) && !v.system:
		if v != nil && len(v.sans) > 0 {
			return errors.New(untrusted)
		}
		c.Insecure = true // as Envoy
	case t.verify:
		c.CA = f.add(v.ca)
		if c.SANs = v.sans; len(v.sans) > 0 {
			c.SANs = append([]string{"dns:" + t.sni}, v.sans...)
		}
	default:
		if c.CA, c.SANs = f.add(v.ca), v.sans; len(v.sans) == 0 {
			c.SANs = []string{config.AnySAN}
		}
	}
	if c.ServerName == "" {
		c.ServerName = "."
	}
	if check := &b.config.Check; check.Interval > 0 {
		check.TLS = true
		if !c.Insecure {
			check.TLSServerName = t.sni
		}
	}
	keys, found := certs.LoadClient(c, f.read)
	if err := problems(found); err != nil {
		return err
	}
	b.keys = keys
	return nil
}

// resolve is the certificates and the validation, with those of secrets.
func (c *common) resolve(s *Set) (pairs []pair, v *validation, err error) {
	pairs, v = c.pairs, c.validation
	for _, name := range c.pairSecrets {
		switch secret := s.Secrets[name]; {
		case secret == nil:
			return nil, nil, fmt.Errorf("there is no secret %q", name)
		case secret.pair == nil:
			return nil, nil, fmt.Errorf("the secret %q is no certificate", name)
		default:
			pairs = append(pairs[:len(pairs):len(pairs)], *secret.pair)
		}
	}
	if name := c.validationSecret; name != "" {
		switch secret := s.Secrets[name]; {
		case secret == nil:
			return nil, nil, fmt.Errorf("there is no secret %q", name)
		case secret.validation == nil:
			return nil, nil, fmt.Errorf("the secret %q is no validation context", name)
		default:
			v = v.with(secret.validation)
		}
	}
	return pairs, v, nil
}
