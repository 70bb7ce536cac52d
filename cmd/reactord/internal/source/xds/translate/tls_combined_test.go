package translate

import (
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/tlspb"
)

// TestCombinedContext has each field of a combined validation context in the default, in the secret, and in both. Envoy
// merges the secret into the default with protobuf's MergeFrom: a file of the secret replaces that of the default,
// lists are joined, and a boolean is set if one of them sets it. What reactord does not support is refused in either.
func TestCombinedContext(t *testing.T) {
	untested := validationFields()
	p, q := newPKI(t), newPKI(t)
	ca, other := `"trusted_ca":`+p.inline(p.File), `"trusted_ca":`+q.inline(q.File)
	crl := `"crl":` + p.inline(p.Revoke("crl", time.Hour))
	longer := `"crl":` + p.inline(p.Revoke("longer", 2*time.Hour))
	typed := func(name string) string {
		return `"match_typed_subject_alt_names":[{"san_type":"DNS","matcher":{"exact":"` + name + `"}}]`
	}
	plain := func(name string) string { return `"match_subject_alt_names":[{"suffix":"` + name + `"}]` }
	const own, secrets = "xds://cluster/c/validation_context/", "xds://secret/s/"
	same := func(all string) (fields [3][2]string) { return [3][2]string{{all, ""}, {"", all}, {all, all}} }
	for _, test := range []struct {
		field string
		parts [3][2]string // of the default and of the secret
		more  string       // in the default
		want  [3]string
	}{
		{"trusted_ca", [3][2]string{{ca, ""}, {"", ca}, {other, ca}}, "",
			[3]string{" TLS.CA=" + own + "ca ", " TLS.CA=" + secrets + "ca ", " TLS.CA=" + secrets + "ca "}},
		{"system_root_certs", same(`"system_root_certs":{}`), "",
			[3]string{" TLS.SANs=[any] IdleTimeout", " TLS.SANs=[any] IdleTimeout", " TLS.SANs=[any] IdleTimeout"}},
		{"crl", [3][2]string{{crl, ca}, {ca, crl}, {crl, ca + "," + longer}}, "",
			[3]string{" TLS.CRL=" + own + "crl ", " TLS.CRL=" + secrets + "crl ", " TLS.CRL=" + secrets + "crl "}},
		{"match_typed_subject_alt_names", [3][2]string{{typed("a"), ""}, {"", typed("b")}, {typed("a"), typed("b")}}, ca,
			[3]string{" TLS.SANs=[dns:a] ", " TLS.SANs=[dns:b] ", " TLS.SANs=[dns:a dns:b] "}},
		{"match_subject_alt_names", [3][2]string{{plain("a"), ""}, {plain("a"), plain("b")}, {plain("a"), typed("b")}}, ca,
			[3]string{
				" TLS.SANs=[dns-suffix:a uri-suffix:a email-suffix:a] ",
				" TLS.SANs=[dns-suffix:a uri-suffix:a email-suffix:a dns-suffix:b uri-suffix:b email-suffix:b] ",
				" TLS.SANs=[dns:b] ", // the older ones are not looked at beside typed ones
			}},
		{"watched_directory", same(`"watched_directory":{"path":"/a"}`), ca, refusals("watching files is not supported: send them inline, or by SDS")},
		{"verify_certificate_spki", same(`"verify_certificate_spki":["a"]`), ca,
			refusals("pinning certificates is not supported: write trusted_ca")},
		{"verify_certificate_hash", same(`"verify_certificate_hash":["a"]`), ca,
			refusals("pinning certificates is not supported: write trusted_ca")},
		{"only_verify_leaf_cert_crl", same(`"only_verify_leaf_cert_crl":true`), ca, refusals("only_verify_leaf_cert_crl: ")},
		{"allow_expired_certificate", same(`"allow_expired_certificate":true`), ca, refusals("allow_expired_certificate: ")},
		{"trust_chain_verification", same(`"trust_chain_verification":"ACCEPT_UNTRUSTED"`), ca,
			refusals("trust_chain_verification: chains are always verified")},
		{"max_verify_depth", same(`"max_verify_depth":1`), ca, refusals("max_verify_depth: ")},
	} {
		for i, parts := range test.parts {
			var got string
			s, err := secret(t, "s", `"validation_context":{`+parts[1]+`}`)
			if err != nil {
				got = "refused: " + err.Error()
			} else {
				c, err := cluster(t, `"transport_socket":`+upstream("", `"combined_validation_context":{`+
					`"default_validation_context":{`+joinFields(test.more, parts[0])+`},"validation_context_sds_secret_config":`+
					sds("s")+`}`))
				got = builtWith(t, c, err, &Set{
					Endpoints: map[string]*Endpoints{"c": {}}, Secrets: map[string]*Secret{"s": s},
				}, demand{})
			}
			if !strings.Contains(got, test.want[i]) {
				t.Errorf("%s, %d: %s\nshould have %s", test.field, i, got, test.want[i])
			}
		}
		delete(untested, test.field)
	}
	for field := range untested {
		t.Errorf("there is no test of %s", field)
	}
}

// validationFields returns the fields of a validation context that are not refused as such.
func validationFields() map[string]bool {
	all := map[string]bool{}
	fields := (&tlspb.CertificateValidationContext{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		all[string(fields.Get(i).Name())] = true
	}
	return all
}

func refusals(text string) [3]string { return [3]string{text, text, text} }

func joinFields(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}

// A list of revoked certificates in the default context counts with the authorities of the secret, and one that is
// not theirs admits no client.
func TestCombinedRevocation(t *testing.T) {
	p, q := newPKI(t), newPKI(t)
	good, revoked := p.Issue("good", certstest.Key(t), time.Hour), p.Issue("revoked", certstest.Key(t), time.Hour)
	crl := `,"crl":` + p.inline(p.Revoke("crl", time.Hour, revoked))
	set := &Set{Endpoints: map[string]*Endpoints{"c": {}}, Secrets: map[string]*Secret{
		"ca": mustSecret(t, "ca", `"validation_context":`+p.ca("")), "other": mustSecret(t, "other",
			`"validation_context":`+q.ca("")),
	}}
	server := func(ca string) *serverTLS {
		s, err := downstream(t, `"common_tls_context":{"tls_certificates":[`+p.pair("a.test")+
			`],"combined_validation_context":{"default_validation_context":`+p.ca(crl)+
			`,"validation_context_sds_secret_config":`+sds(ca)+`}},"require_client_certificate":true`)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	settings, keys, err := server("ca").build(set, nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, refused := range map[string]bool{good: false, revoked: true} {
		c, err := cluster(t, `"transport_socket":`+upstream("", `"tls_certificates":[{"certificate_chain":`+p.inline(path)+
			`,"private_key":`+p.inline(path)+`}]`))
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.build(set, demand{})
		if err != nil {
			t.Fatal(err)
		}
		if err := handshake(t, keys.Config(&settings), b.keys.Config(&b.config.TLS)); (err != nil) != refused {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, _, err := server("other").build(set, nil); err == nil || !strings.Contains(err.Error(),
		"xds://listener/validation_context/crl: ") {
		t.Errorf("a list of another authority: %v", err)
	}
}
