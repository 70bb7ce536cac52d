package translate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/tlspb"
)

var versions = map[tlspb.TlsParameters_TlsProtocol]config.TLSVersion{
	tlspb.TlsParameters_TLS_AUTO: "", tlspb.TlsParameters_TLSv1_0: config.TLS10,
	tlspb.TlsParameters_TLSv1_1: config.TLS11, tlspb.TlsParameters_TLSv1_2: config.TLS12,
	tlspb.TlsParameters_TLSv1_3: config.TLS13,
}

// params reads versions and ciphers. Envoy's automatic choice becomes 1.2 to 1.3 in both directions.
func (c *common) params(r reading, m *tlspb.TlsParameters) {
	version := func(key string, v tlspb.TlsParameters_TlsProtocol, usually config.TLSVersion) config.TLSVersion {
		version, known := versions[v]
		if !known {
			r.at("%s", key).refuse("%s is unknown", v)
		}
		return cmp.Or(version, usually)
	}
	c.maxVersion = version("tls_maximum_protocol_version", m.GetTlsMaximumProtocolVersion(), config.TLS13)
	c.minVersion = version("tls_minimum_protocol_version", m.GetTlsMinimumProtocolVersion(),
		min(config.TLS12, c.maxVersion))
	r.at("tls_minimum_protocol_version").only(c.minVersion <= c.maxVersion, "greater than the maximum")
	for i, group := range m.GetCipherSuites() {
		for name := range strings.SplitSeq(strings.Trim(group, "[]"), "|") {
			c.cipher(r.at("cipher_suites[%d]", i), name)
		}
	}
	for i, name := range m.GetEcdhCurves() {
		if r := r.at("ecdh_curves[%d]", i); !slices.Contains(config.Curves, name) {
			r.refuse("%q is not supported: write one of %s", name, strings.Join(config.Curves, ", "))
		}
		c.curves = append(c.curves, name)
	}
	classical := slices.ContainsFunc(c.curves, func(name string) bool { return !strings.Contains(name, "MLKEM") })
	r.at("ecdh_curves").only(len(c.curves) == 0 || classical || c.maxVersion == config.TLS13,
		"TLS 1.2 supports none of these")
	r.at("signature_algorithms").only(len(m.GetSignatureAlgorithms()) == 0, "not supported")
	r.at("compliance_policies").only(len(m.GetCompliancePolicies()) == 0, "not supported")
}

func (c *common) cipher(r reading, name string) {
	switch iana, known := ciphers[name]; {
	case slices.Contains(config.Ciphers, name):
		c.ciphers = append(c.ciphers, name)
	case known:
		c.ciphers = append(c.ciphers, iana)
	default:
		r.refuse("cipher suite %q is not supported", name)
	}
}

// ciphers maps the OpenSSL names of TLS 1.2 cipher suites.
var ciphers = func() map[string]string {
	all := map[string]string{}
	for _, exchange := range []string{"ECDHE-ECDSA-", "ECDHE-RSA-", ""} {
		prefix := "TLS_RSA_WITH_"
		if exchange != "" {
			prefix = "TLS_" + strings.TrimSuffix(strings.ReplaceAll(exchange, "-", "_"), "_") + "_WITH_"
		}
		for name, iana := range map[string]string{
			"AES128-GCM-SHA256": "AES_128_GCM_SHA256", "AES256-GCM-SHA384": "AES_256_GCM_SHA384",
			"AES128-SHA256": "AES_128_CBC_SHA256", "AES128-SHA": "AES_128_CBC_SHA", "AES256-SHA": "AES_256_CBC_SHA",
			"CHACHA20-POLY1305": "CHACHA20_POLY1305_SHA256", "DES-CBC3-SHA": "3DES_EDE_CBC_SHA",
		} {
			if iana = prefix + iana; slices.Contains(config.Ciphers, iana) {
				all[exchange+name] = iana
			}
		}
	}
	return all
}()
