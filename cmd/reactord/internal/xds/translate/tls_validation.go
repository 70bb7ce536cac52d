package translate

import (
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/tlspb"
)

// validation is which certificates of the other side are accepted.
type validation struct {
	ca     file // none: no certificate is verified, or those of the system do
	system bool // the authorities of the system
	sans   []string
	crl    file // lists of revoked certificates of ca; none: nothing is revoked
}

// decodeValidation reads a validation context; nil: there is none.
func decodeValidation(r reading, m *tlspb.CertificateValidationContext, origin string) *validation {
	if m == nil {
		return nil
	}
	v := &validation{ca: decodeFile(r.at("trusted_ca"), m.TrustedCa, origin+"/ca"), system: m.SystemRootCerts != nil}
	r.at("system_root_certs").only(!v.system || v.ca == (file{}), "there is trusted_ca as well: write one of them")
	for i, s := range m.MatchTypedSubjectAltNames {
		v.typed(r.at("match_typed_subject_alt_names[%d]", i), s)
	}
	if len(m.MatchTypedSubjectAltNames) == 0 { // these are older, and not looked at beside those
		for i, s := range m.MatchSubjectAltNames {
			r := r.at("match_subject_alt_names[%d]", i)
			for _, kind := range []string{"dns", "uri", "email"} {
				v.san(r, kind, s)
			}
			if _, err := config.ParseSAN("ip:" + s.GetExact()); err == nil {
				v.san(r, "ip", s)
			}
		}
	}
	const pinned = "certificates are not pinned: write trusted_ca"
	r.at("verify_certificate_spki").only(len(m.VerifyCertificateSpki) == 0, pinned)
	r.at("verify_certificate_hash").only(len(m.VerifyCertificateHash) == 0, pinned)
	v.crl = decodeFile(r.at("crl"), m.Crl, origin+"/crl")
	r.at("crl").only(v.crl == (file{}) || v.ca != (file{}),
		"it is of the authorities of trusted_ca: write it in the same place")
	r.at("only_verify_leaf_cert_crl").only(!m.OnlyVerifyLeafCertCrl, "authorities of a chain may be revoked, too")
	r.at("allow_expired_certificate").only(!m.AllowExpiredCertificate, "certificates that have expired are not accepted")
	r.at("trust_chain_verification").only(
		m.TrustChainVerification == tlspb.CertificateValidationContext_VERIFY_TRUST_CHAIN, "chains are always verified")
	r.at("max_verify_depth").only(m.MaxVerifyDepth == nil, "the depth of chains is not limited")
	r.at("watched_directory").only(m.WatchedDirectory == nil,
		"files are read when the resource changes: send them inline, or by SDS")
	return v
}

var sanKinds = map[tlspb.SubjectAltNameMatcher_SanType]string{
	tlspb.SubjectAltNameMatcher_DNS: "dns", tlspb.SubjectAltNameMatcher_URI: "uri",
	tlspb.SubjectAltNameMatcher_EMAIL: "email", tlspb.SubjectAltNameMatcher_IP_ADDRESS: "ip",
}

func (v *validation) typed(r reading, m *tlspb.SubjectAltNameMatcher) {
	kind, known := sanKinds[m.SanType]
	if !known {
		r.at("san_type").refuse("reactord does not compare names of the type %s", m.SanType)
		return
	}
	v.san(r.at("matcher"), kind, m.Matcher)
}

// san adds a name that a certificate may have.
func (v *validation) san(r reading, kind string, m *corepb.StringMatcher) {
	r.at("ignore_case").only(!m.GetIgnoreCase() || kind == "dns", "case counts in all names but those of DNS")
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
		r.refuse("names are compared by exact, prefix, suffix, contains or safe_regex")
		return
	}
	if _, err := config.ParseSAN(s.String()); err != nil {
		r.refuse("%v", err)
		return
	}
	v.sans = append(v.sans, s.String())
}

// with is v, completed by what a secret says, which counts more; each may be nil.
func (v *validation) with(secret *validation) *validation {
	switch {
	case v == nil:
		return secret
	case secret == nil:
		return v
	}
	both := *v
	if secret.ca != (file{}) {
		both.ca, both.crl, both.system = secret.ca, secret.crl, false
	}
	both.system = both.system || secret.system
	both.sans = append(append([]string(nil), v.sans...), secret.sans...)
	return &both
}
