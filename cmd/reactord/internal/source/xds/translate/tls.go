package translate

import (
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/tlspb"
)

// common has the common part of TLS contexts of clients and servers.
type common struct {
	minVersion, maxVersion config.TLSVersion
	ciphers, curves, alpn  []string
	pairs                  []pair
	pairSecrets            []string
	validation             *validation // nil if unset
	validationSecret       string      // "" if unset
	foreign                string      // server of secrets, if not the control plane
}

// pair is a certificate with its key.
type pair struct{ cert, key, staple file }

// add registers in-memory files, and returns the paths.
func (p *pair) add(f files) config.Certificate {
	return config.Certificate{Cert: f.add(p.cert), Key: f.add(p.key), OCSP: f.add(p.staple)}
}

// onDisk reports whether any part is in the file system.
func (p *pair) onDisk() bool {
	for _, f := range []file{p.cert, p.key, p.staple} {
		if f.path != "" && !strings.HasPrefix(f.path, inMemory) {
			return true
		}
	}
	return false
}

func decodeCommon(r reading, m *tlspb.CommonTlsContext, origin string) (c common) {
	c.params(r.at("tls_params"), m.GetTlsParams())
	c.alpn = m.GetAlpnProtocols()
	for i, p := range c.alpn {
		if p == "" || len(p) > 255 {
			r.at("alpn_protocols[%d]", i).refuse("%q is not a protocol", p)
		}
	}
	for i, t := range m.GetTlsCertificates() {
		at := r.at("tls_certificates[%d]", i)
		c.pairs = append(c.pairs, *decodePair(at, t, origin+"/"+at.path[strings.LastIndexByte(at.path, '.')+1:]))
	}
	for i, s := range m.GetTlsCertificateSdsSecretConfigs() {
		if p := agentPair(s); p != nil {
			c.pairs = append(c.pairs, *p)
		} else if name := c.secret(r.at("tls_certificate_sds_secret_configs[%d]", i), s); name != "" {
			c.pairSecrets = append(c.pairSecrets, name)
		}
	}
	switch v := m.GetValidationContextType().(type) {
	case *tlspb.CommonTlsContext_ValidationContext:
		c.validation = decodeValidation(r.at("validation_context"), v.ValidationContext, origin+"/validation_context")
	case *tlspb.CommonTlsContext_ValidationContextSdsSecretConfig:
		c.byName(r.at("validation_context_sds_secret_config"), v.ValidationContextSdsSecretConfig)
	case *tlspb.CommonTlsContext_CombinedValidationContext:
		r, both := r.at("combined_validation_context"), v.CombinedValidationContext
		c.validation = decodeValidation(r.at("default_validation_context"), both.DefaultValidationContext,
			origin+"/validation_context")
		c.byName(r.at("validation_context_sds_secret_config"), both.ValidationContextSdsSecretConfig)
	}
	if err := c.validation.fault(); err != nil && c.validationSecret == "" && c.foreign == "" {
		r.refuse("%v", err)
	}
	return c
}

// byName reads the name of the secret with the validation context.
func (c *common) byName(r reading, m *tlspb.SdsSecretConfig) {
	if root := agentRoot(m); root != nil {
		c.validation = c.validation.with(root)
		return
	}
	c.validationSecret = c.secret(r, m)
}

// secret returns the name of a secret to request, or "" if it was refused or comes from elsewhere.
func (c *common) secret(r reading, m *tlspb.SdsSecretConfig) string {
	if other := foreign(m.GetSdsConfig()); other != "" {
		c.foreign = other
		return ""
	}
	r.at("sds_config").configSource(m.GetSdsConfig())
	if fault := nameFault(m.GetName()); fault != "" {
		r.at("name").refuse("%q %s", m.GetName(), fault)
		return ""
	}
	return m.GetName()
}

// secrets returns the names of the secrets that it needs. c may be nil.
func (c *common) secrets() (names []string) {
	names = append(names, c.pairSecrets...)
	if c.validationSecret != "" {
		names = append(names, c.validationSecret)
	}
	return names
}

func decodePair(r reading, m *tlspb.TlsCertificate, origin string) *pair {
	r.at("watched_directory").only(m.GetWatchedDirectory() == nil, "watching files is not supported: send them "+
		"inline, or by SDS")
	p := &pair{
		cert:   decodeFile(r.at("certificate_chain"), m.GetCertificateChain(), origin+"/cert"),
		key:    decodeFile(r.at("private_key"), m.GetPrivateKey(), origin+"/key"),
		staple: decodeFile(r.at("ocsp_staple"), m.GetOcspStaple(), origin+"/ocsp"),
	}
	r.at("certificate_chain").only(p.cert.path != "", "missing")
	r.at("private_key").only(p.key.path != "", "missing")
	return p
}
