package translate

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/tlspb"
)

// serverTLS is a DownstreamTlsContext.
type serverTLS struct {
	common
	require    bool // clients need a certificate
	tickets    bool
	keys       *file  // ticket keys; nil for reactord's
	keysSecret string // secret with ticket keys, or ""
}

// decodeServerTLS decodes a DownstreamTlsContext.
func decodeServerTLS(r reading, m *tlspb.DownstreamTlsContext) *serverTLS {
	t := &serverTLS{require: m.GetRequireClientCertificate().GetValue(), tickets: true}
	t.common = decodeCommon(r.at("common_tls_context"), m.GetCommonTlsContext(), "xds://listener")
	if t.foreign != "" {
		r.at("common_tls_context").refuse("secrets from %s are not supported", t.foreign)
	}
	r.at("common_tls_context").only(len(t.pairs)+len(t.pairSecrets) > 0 || t.foreign != "", "certificate is missing")
	r.at("require_sni").only(!m.GetRequireSni().GetValue(), "not supported: match server_names")
	r.at("ocsp_staple_policy").only(m.GetOcspStaplePolicy() == tlspb.DownstreamTlsContext_LENIENT_STAPLING,
		"requiring a staple is not supported")
	switch k := m.GetSessionTicketKeysType().(type) {
	case *tlspb.DownstreamTlsContext_DisableStatelessSessionResumption:
		t.tickets = !k.DisableStatelessSessionResumption
	case *tlspb.DownstreamTlsContext_SessionTicketKeys:
		t.keys = decodeTicketKeys(r.at("session_ticket_keys"), k.SessionTicketKeys, "xds://listener")
	case *tlspb.DownstreamTlsContext_SessionTicketKeysSdsSecretConfig:
		t.keysSecret = t.secret(r.at("session_ticket_keys_sds_secret_config"), k.SessionTicketKeysSdsSecretConfig)
	}
	if t.validationSecret == "" && t.foreign == "" {
		r.at("require_client_certificate").only(!t.require || t.validation.trusted(),
			"requires trusted_ca")
		r.at("common_tls_context").only(!t.validation.ofSystem(), ofSystem)
	}
	return t
}

const ofSystem = "system authorities are not supported for clients: write trusted_ca"

// ofSystem reports whether the authorities are the system's. v may be nil.
func (v *validation) ofSystem() bool { return v.trusted() && v.ca == (file{}) }

// Secrets returns the names of the secrets that it needs.
func (t *serverTLS) Secrets() []string {
	names := t.secrets()
	if t.keysSecret != "" {
		names = append(names, t.keysSecret)
	}
	return names
}

// ticketKeys returns the ticket keys, including those of a secret, or nil for reactord's.
func (t *serverTLS) ticketKeys(s *Set) (*file, error) {
	if t.keysSecret == "" {
		return t.keys, nil
	}
	switch secret := s.Secrets[t.keysSecret]; {
	case secret == nil:
		return nil, fmt.Errorf("secret %q does not exist", t.keysSecret)
	case secret.tickets == nil:
		return nil, fmt.Errorf("secret %q has no ticket keys", t.keysSecret)
	default:
		return secret.tickets, nil
	}
}

// clientAuth reports whether a client needs a certificate.
func (t *serverTLS) clientAuth() bool { return t.require }

// tlsTermination is a TLS termination: settings, and the files that they hold, which take long to read.
type tlsTermination struct {
	config config.ServerTLS
	files  files // in memory
	keys   *certs.Server
}

// terminateTLS returns the TLS termination for the secrets of s, or before, which may be nil, if that is the same.
// Files in the file system are always read. who restricts the names of clients beyond the context.
func (t *serverTLS) terminateTLS(s *Set, who named, before *tlsTermination) (*tlsTermination, error) {
	c, f, err := t.convert(s, who)
	if err != nil {
		return nil, err
	}
	if before != nil && f.hold(&c) && reflect.DeepEqual(before.config, c) && maps.Equal(before.files, f) {
		return before, nil
	}
	keys, found := certs.LoadServer(&c, f.read)
	if err := problems(found); err != nil {
		return nil, err
	}
	return &tlsTermination{c, f, keys}, nil
}

// hold reports whether all files of the settings are in memory.
func (f files) hold(c *config.ServerTLS) bool {
	paths := []string{c.ClientCA, c.ClientCRL, c.TicketKeys}
	for _, one := range c.Certificates {
		paths = append(paths, one.Cert, one.Key, one.KeyPasswordFile, one.OCSP)
	}
	return !slices.ContainsFunc(paths, func(path string) bool {
		_, known := f[path]
		return path != "" && !known
	})
}

// convert returns the settings, with the files that are in memory.
func (t *serverTLS) convert(s *Set, who named) (c config.ServerTLS, f files, err error) {
	c, f = config.NewListener().TLS, files{}
	c.MinVersion, c.MaxVersion, c.Ciphers, c.Curves, c.ALPN = t.minVersion, t.maxVersion, t.ciphers, t.curves, t.alpn
	c.Tickets = t.tickets
	pairs, v, err := t.resolve(s)
	if err != nil {
		return c, f, err
	}
	tickets, err := t.ticketKeys(s)
	if err != nil {
		return c, f, err
	}
	if tickets != nil {
		c.TicketKeys = f.add(*tickets)
	}
	for _, p := range pairs {
		c.Certificates = append(c.Certificates, p.add(f))
	}
	switch {
	case v.ofSystem():
		return c, f, errors.New(ofSystem)
	case v.trusted():
		c.ClientAuth = config.RequestClientAuth
		if t.require || len(v.sans()) > 0 { // a required name requires a certificate, as in Envoy
			c.ClientAuth = config.RequireClientAuth
		}
		c.ClientCA, c.ClientCRL = f.add(v.ca), f.add(v.crl)
		if c.ClientSANs, err = narrower(v.sans(), who.sans); err != nil {
			return c, f, err
		}
		c.DenySANs = who.denied
	case t.require || who.any():
		return c, f, errors.New("client certificates require authorities: write trusted_ca")
	}
	return c, f, nil
}
