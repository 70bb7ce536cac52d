package translate

import (
	"errors"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/tlspb"
)

// validation is which certificates of the other side are accepted.
type validation struct {
	ca     file // unset: the system's authorities, or no verification
	system bool // use the system's authorities, unless ca is set
	typed  []string
	plain  []string // names of any type, used if typed is empty
	crl    file     // revocation lists of ca, if set
}

// decodeValidation decodes a validation context, which another one may complete, or returns nil if there is none.
func decodeValidation(r reading, m *tlspb.CertificateValidationContext, origin string) *validation {
	if m == nil {
		return nil
	}
	v := &validation{ca: decodeFile(r.at("trusted_ca"), m.TrustedCa, origin+"/ca"), system: m.SystemRootCerts != nil}
	for i, s := range m.MatchTypedSubjectAltNames {
		r := r.at("match_typed_subject_alt_names[%d]", i)
		if kind, known := sanKinds[s.SanType]; known {
			v.typed = append(v.typed, decodeSAN(r.at("matcher"), kind, s.Matcher)...)
		} else {
			r.at("san_type").refuse("names of type %s are not supported", s.SanType)
		}
	}
	for i, s := range m.MatchSubjectAltNames {
		r := r.at("match_subject_alt_names[%d]", i)
		for _, kind := range []string{"dns", "uri", "email"} {
			v.plain = append(v.plain, decodeSAN(r, kind, s)...)
		}
		if _, err := config.ParseSAN("ip:" + s.GetExact()); err == nil {
			v.plain = append(v.plain, decodeSAN(r, "ip", s)...)
		}
	}
	const pinned = "pinning certificates is not supported: write trusted_ca"
	r.at("verify_certificate_spki").only(len(m.VerifyCertificateSpki) == 0, pinned)
	r.at("verify_certificate_hash").only(len(m.VerifyCertificateHash) == 0, pinned)
	v.crl = decodeFile(r.at("crl"), m.Crl, origin+"/crl")
	r.at("only_verify_leaf_cert_crl").only(!m.OnlyVerifyLeafCertCrl, "the whole chain is always checked")
	r.at("allow_expired_certificate").only(!m.AllowExpiredCertificate, "expired certificates are never accepted")
	r.at("trust_chain_verification").only(
		m.TrustChainVerification == tlspb.CertificateValidationContext_VERIFY_TRUST_CHAIN, "chains are always verified")
	r.at("max_verify_depth").only(m.MaxVerifyDepth == nil, "limiting the depth is not supported")
	r.at("watched_directory").only(m.WatchedDirectory == nil,
		"watching files is not supported: send them inline, or by SDS")
	return v
}

var sanKinds = map[tlspb.SubjectAltNameMatcher_SanType]string{
	tlspb.SubjectAltNameMatcher_DNS: "dns", tlspb.SubjectAltNameMatcher_URI: "uri",
	tlspb.SubjectAltNameMatcher_EMAIL: "email", tlspb.SubjectAltNameMatcher_IP_ADDRESS: "ip",
}

// decodeSAN reads a name that a certificate may have.
func decodeSAN(r reading, kind string, m *corepb.StringMatcher) []string {
	r.at("ignore_case").only(!m.GetIgnoreCase() || kind == "dns", "only supported for DNS names")
	s := config.SAN{Kind: kind}
	switch p := m.GetMatchPattern().(type) {
	case *corepb.StringMatcher_Exact:
		s.Value = p.Exact
	case *corepb.StringMatcher_Prefix:
		s.Match, s.Value = "prefix", p.Prefix
	case *corepb.StringMatcher_Suffix:
		s.Match, s.Value = "suffix", p.Suffix
	case *corepb.StringMatcher_Contains:
		s.Match, s.Value = "contains", p.Contains
	case *corepb.StringMatcher_SafeRegex:
		s.Match, s.Value = "regex", p.SafeRegex.GetRegex()
	default:
		r.refuse("write exact, prefix, suffix, contains or safe_regex")
		return nil
	}
	if _, err := config.ParseSAN(s.String()); err != nil {
		r.refuse("%v", err)
		return nil
	}
	return []string{s.String()}
}

// with merges a validation context of a secret into v, as Envoy does with the parts of a combined context (protobuf's
// MergeFrom): files of the secret replace those of v, and names are added. Either may be nil.
func (v *validation) with(secret *validation) *validation {
	switch {
	case v == nil:
		return secret
	case secret == nil:
		return v
	}
	both := *v
	if secret.ca != (file{}) {
		both.ca = secret.ca
	}
	if secret.crl != (file{}) {
		both.crl = secret.crl
	}
	both.system = v.system || secret.system
	both.typed = append(slices.Clip(v.typed), secret.typed...)
	both.plain = append(slices.Clip(v.plain), secret.plain...)
	return &both
}

// sans returns the names of which a certificate must have one, or nothing for any. v may be nil.
func (v *validation) sans() []string {
	switch {
	case v == nil:
		return nil
	case len(v.typed) > 0:
		return v.typed
	default:
		return v.plain
	}
}

// trusted reports whether certificates are verified. v may be nil.
func (v *validation) trusted() bool { return v != nil && (v.ca != (file{}) || v.system) }

// fault returns what is wrong with the context as a whole, or nil. v may be nil.
func (v *validation) fault() error {
	switch {
	case v == nil:
	case v.crl != (file{}) && v.ca == (file{}):
		return errors.New("crl: requires trusted_ca: write it, too")
	case len(v.sans()) > 0 && !v.trusted():
		return errors.New(untrusted)
	}
	return nil
}
