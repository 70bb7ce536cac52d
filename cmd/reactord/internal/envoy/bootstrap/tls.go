package bootstrap

import (
	"crypto/tls"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/stream"
)

// tls makes the function that makes the settings of TLS for a stream. nil: there is no TLS.
func (b *Bootstrap) tls(socket *socketConfig, secrets []secretFields) (func() (*tls.Config, error), error) {
	switch {
	case socket == nil, socket.Typed.is("RawBuffer"):
		return nil, nil
	case !socket.Typed.is("UpstreamTlsContext"):
		return nil, fmt.Errorf("%s is not supported: use UpstreamTlsContext", socket.Typed.Type)
	}
	var fields tlsFields
	if err := socket.Typed.into(&fields); err != nil {
		return nil, plain(err)
	}
	if err := socket.strict(); err != nil {
		return nil, err
	}
	t := &trust{sni: fields.SNI, common: &fields.Common}
	if err := t.prepare(secrets); err != nil {
		return nil, err
	}
	if t.validation == nil {
		b.warn("the control plane's certificate is not verified: its cluster has no validation_context")
	}
	if t.validation != nil && t.load == nil { // what can be checked now
		if _, err := t.build(); err != nil {
			return nil, err
		}
	}
	return func() (*tls.Config, error) {
		made, err := t.build()
		if err != nil {
			return nil, err
		}
		return made.Config()
	}, nil
}

// harmless are the fields of TLS that need not be honoured.
var harmless = []string{
	"auto_host_sni", "auto_sni_san_validation", "max_session_keys", "allow_renegotiation", "enforce_rsa_key_usage",
	"common_tls_context.tls_params.signature_algorithms", "common_tls_context.tls_params.ecdh_curves",
	"common_tls_context.tls_params.cipher_suites", "common_tls_context.key_log",
}

// strict refuses what is not honoured: it may be what keeps the control plane safe.
func (s *socketConfig) strict() error {
	var doc document
	if err := s.Typed.into(&doc); err != nil {
		return err
	}
	var errs []error
next:
	for _, path := range unknown(doc, reflect.TypeFor[tlsFields](), "") {
		for _, h := range harmless {
			if path == h || strings.HasPrefix(path, h+".") {
				continue next
			}
		}
		if !strings.HasSuffix(path, ".resource_api_version") {
			errs = append(errs, fmt.Errorf("%s is not supported", path))
		}
	}
	return errors.Join(errs...)
}

// trust is the settings of TLS as a bootstrap has them, with how its secrets are read.
type trust struct {
	sni    string
	common *commonFields

	certificate func() (*secretFields, error) // nil: inline, or none
	load        func() (*secretFields, error) // of the validation; nil: inline, or none
	validation  *validationFields             // inline; may be nil. What load has comes on top
}

// prepare finds the secrets.
func (t *trust) prepare(secrets []secretFields) (err error) {
	c := t.common
	if c.Provider != nil || c.Provider2 != nil {
		return errors.New("providers of certificates are not supported")
	}
	if len(c.Certificates)+len(c.CertificateSDS) > 1 {
		return errors.New("several certificates are not supported")
	}
	if len(c.CertificateSDS) == 1 {
		if t.certificate, err = c.CertificateSDS[0].secret(secrets); err != nil {
			return err
		}
	}
	sds := c.ValidationSDS
	t.validation = c.Validation
	if c.Combined != nil {
		t.validation, sds = c.Combined.Default, c.Combined.SDS
	}
	if sds != nil {
		if t.load, err = sds.secret(secrets); err != nil {
			return err
		}
		if t.validation == nil {
			t.validation = &validationFields{}
		}
	}
	return nil
}

// versions are the versions of TLS.
var versions = map[string]uint16{
	"": 0, "TLS_AUTO": 0, "TLSv1_0": tls.VersionTLS10, "TLSv1_1": tls.VersionTLS11, "TLSv1_2": tls.VersionTLS12,
	"TLSv1_3": tls.VersionTLS13,
}

// build reads the secrets.
func (t *trust) build() (*stream.TLS, error) {
	out := &stream.TLS{ServerName: t.sni}
	var known, known2 bool
	out.MinVersion, known = versions[t.common.Params.Min]
	out.MaxVersion, known2 = versions[t.common.Params.Max]
	if !known || !known2 {
		return nil, errors.New("tls_params: a version is unknown: use TLSv1_2 or TLSv1_3")
	}
	if err := t.own(out); err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	if t.validation == nil {
		out.Insecure = true // as Envoy does
		return out, nil
	}
	all := []*validationFields{t.validation}
	if t.load != nil {
		s, err := t.load()
		if err != nil {
			return nil, err
		}
		if s.Validation == nil {
			return nil, fmt.Errorf("secret %q is no validation_context", s.Name)
		}
		all = append(all, s.Validation)
	}
	for _, v := range all {
		if err := v.into(out); err != nil {
			return nil, fmt.Errorf("validation_context: %w", err)
		}
	}
	trusted := false
	for _, v := range all {
		trusted = trusted || v.TrustedCA != nil || v.System != nil
	}
	out.Insecure = out.Insecure || !trusted // as Envoy does
	if !trusted && len(out.Names) > 0 {
		return nil, errors.New("validation_context: names are wanted, but there is no trusted_ca")
	}
	out.AnyName = true
	return out, nil
}

// own adds the certificate of this side.
func (t *trust) own(to *stream.TLS) (err error) {
	var c *certificateFields
	switch {
	case len(t.common.Certificates) == 1:
		c = &t.common.Certificates[0]
	case t.certificate != nil:
		s, err := t.certificate()
		if err != nil {
			return err
		}
		if c = s.Certificate; c == nil {
			return fmt.Errorf("secret %q is no tls_certificate", s.Name)
		}
	default:
		return nil
	}
	if c.Provider != nil || c.Password != nil {
		return errors.New("private_key_provider and password are not supported")
	}
	if to.Cert, err = c.Chain.pem(); err != nil {
		return fmt.Errorf("certificate_chain: %w", err)
	}
	if to.Key, err = c.Key.pem(); err != nil {
		return fmt.Errorf("private_key: %w", err)
	}
	return nil
}

// into adds what a validation context wants.
func (v *validationFields) into(to *stream.TLS) (err error) {
	switch {
	case v.SPKI != nil, v.Hash != nil:
		return errors.New("verify_certificate_spki and verify_certificate_hash are not supported")
	case v.CRL != nil:
		return errors.New("crl is not supported")
	case v.Provider != nil, v.Custom != nil:
		return errors.New("providers and custom validators are not supported")
	case v.AllowExpired:
		return errors.New("allow_expired_certificate is not supported")
	}
	if v.TrustedCA != nil {
		if to.CA, err = v.TrustedCA.pem(); err != nil {
			return fmt.Errorf("trusted_ca: %w", err)
		}
	}
	to.Insecure = to.Insecure || v.Trust == "ACCEPT_UNTRUSTED" || v.Trust == float64(1)
	for _, s := range v.Names {
		kind, ok := kindsOfNames[s.Type]
		if !ok {
			return fmt.Errorf("match_typed_subject_alt_names: san_type %v is not supported", s.Type)
		}
		name, err := s.Matcher.name(kind)
		if err != nil {
			return fmt.Errorf("match_typed_subject_alt_names: %w", err)
		}
		to.Names = append(to.Names, name)
	}
	for _, m := range v.AnyNames {
		name, err := m.name(stream.AnyKind)
		if err != nil {
			return fmt.Errorf("match_subject_alt_names: %w", err)
		}
		to.Names = append(to.Names, name)
	}
	return nil
}

// kindsOfNames are the kinds of names of certificates.
var kindsOfNames = map[any]stream.Kind{
	"EMAIL": stream.Email, "DNS": stream.DNS, "URI": stream.URI, "IP_ADDRESS": stream.IP,
	float64(1): stream.Email, float64(2): stream.DNS, float64(3): stream.URI, float64(4): stream.IP,
}

// name returns the name that a matcher wants.
func (m *matcherFields) name(kind stream.Kind) (stream.Name, error) {
	n := stream.Name{Kind: kind, Fold: m.IgnoreCase}
	for how, text := range []*string{m.Exact, m.Prefix, m.Suffix, m.Contains} {
		if text != nil {
			n.How, n.Text = stream.How(how), *text
			return n, nil
		}
	}
	if m.Regex == nil {
		return n, errors.New("only exact, prefix, suffix, contains and safe_regex are supported")
	}
	n.How = stream.Regexp
	var err error
	n.Regexp, err = stream.FullRegexp(m.Regex.Regex)
	return n, err
}
