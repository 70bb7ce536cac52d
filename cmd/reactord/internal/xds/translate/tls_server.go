package translate

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/tlspb"
)

// serverTLS is what a DownstreamTlsContext says.
type serverTLS struct {
	common
	require    bool // clients need a certificate
	tickets    bool
	keys       *file  // of tickets; nil: they are reactord's own
	keysSecret string // the secret that has them; "": none
}

// decodeServerTLS reads a DownstreamTlsContext, and refuses in r what cannot be honoured.
func decodeServerTLS(r reading, m *tlspb.DownstreamTlsContext) *serverTLS {
	t := &serverTLS{require: m.GetRequireClientCertificate().GetValue(), tickets: true}
	t.common = decodeCommon(r.at("common_tls_context"), m.GetCommonTlsContext(), "xds://listener")
	if t.foreign != "" {
		r.at("common_tls_context").refuse("its secrets come from %s, which reactord does not ask", t.foreign)
	}
	r.at("common_tls_context").only(len(t.pairs)+len(t.pairSecrets) > 0 || t.foreign != "", "there is no certificate")
	r.at("require_sni").only(!m.GetRequireSni().GetValue(), "clients may leave out the name: match server_names")
	r.at("ocsp_staple_policy").only(m.GetOcspStaplePolicy() == tlspb.DownstreamTlsContext_LENIENT_STAPLING,
		"a certificate is used without a staple, too")
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
			"it needs trusted_ca: whose certificates are accepted")
		r.at("common_tls_context").only(!t.validation.ofSystem(), ofSystem)
	}
	return t
}

const ofSystem = "authorities of clients are not those of the system: write trusted_ca"

// ofSystem reports whether the authorities are those of the system. v may be nil.
func (v *validation) ofSystem() bool { return v.trusted() && v.ca == (file{}) }

// Secrets are the names of the secrets that it needs.
func (t *serverTLS) Secrets() []string {
	names := t.secrets()
	if t.keysSecret != "" {
		names = append(names, t.keysSecret)
	}
	return names
}

// ticketKeys are the keys of tickets, with those of a secret; nil: they are reactord's own.
func (t *serverTLS) ticketKeys(s *Set) (*file, error) {
	if t.keysSecret == "" {
		return t.keys, nil
	}
	switch secret := s.Secrets[t.keysSecret]; {
	case secret == nil:
		return nil, fmt.Errorf("there is no secret %q", t.keysSecret)
	case secret.tickets == nil:
		return nil, fmt.Errorf("the secret %q has no keys of tickets", t.keysSecret)
	default:
		return secret.tickets, nil
	}
}

// clientAuth reports whether a client needs a certificate.
func (t *serverTLS) clientAuth() bool { return t.require }

// ending is how TLS ends: settings, and what they hold, which takes long to read.
type ending struct {
	config config.ServerTLS
	files  files // that are in memory
	keys   *certs.Server
}

// ending makes the settings and what they hold, or takes those before, which may be nil, if they are of the same. Files
// of the file system are always read. who is which names of clients are
// allowed beside the context's own.
func (t *serverTLS) ending(s *Set, who named, before *ending) (*ending, error) {
	c, f, err := t.settings(s, who)
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
	return &ending{c, f, keys}, nil
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

// settings makes the settings, with the files that are in memory.
func (t *serverTLS) settings(s *Set, who named) (c config.ServerTLS, f files, err error) {
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
		if c.ClientAuth = "request"; t.require || len(v.sans()) > 0 { // who must have a name needs a certificate, as in Envoy
			c.ClientAuth = "require"
		}
		c.ClientCA, c.ClientCRL = f.add(v.ca), f.add(v.crl)
		if c.ClientSANs, err = narrower(v.sans(), who.sans); err != nil {
			return c, f, err
		}
		c.DenySANs = who.denied
	case t.require || who.any():
		return c, f, errors.New("clients need a certificate, and there are no authorities: write trusted_ca")
	}
	return c, f, nil
}
