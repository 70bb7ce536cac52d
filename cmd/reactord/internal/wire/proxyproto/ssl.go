package proxyproto

import (
	"encoding/binary"
	"fmt"
)

// The types inside of the TLV about TLS.
const (
	sslVersion Type = 0x21
	sslCN      Type = 0x22
	sslCipher  Type = 0x23
	sslSigAlg  Type = 0x24
	sslKeyAlg  Type = 0x25
)

// Bits of the client's byte.
const (
	sslClient      = 0x01
	sslCertConn    = 0x02
	sslCertSession = 0x04
)

// SSL describes the client's TLS. Its strings are as OpenSSL writes them; empty ones are not sent.
type SSL struct {
	// TLS reports whether the client speaks TLS.
	TLS bool
	// CertConn reports whether the client has sent a certificate in this connection, CertSession whether it has in this
	// one or in the one whose session it resumes.
	CertConn, CertSession bool
	// Verified reports whether the certificate was valid. It is false without one, unlike in HAProxy.
	Verified bool
	// Version is the version of TLS: "TLSv1.3".
	Version string
	// CN is the common name of the client's certificate.
	CN string
	// Cipher is the cipher suite: "TLS_AES_128_GCM_SHA256".
	Cipher string
	// SigAlg is the signature algorithm of the proxy's certificate: "RSA-SHA256".
	SigAlg string
	// KeyAlg is the type and size of the key of the proxy's certificate: "RSA2048".
	KeyAlg string
}

// ParseSSL parses the value of a TLV of type [TLS]. It copies the strings. Errors match [ErrMalformed].
func ParseSSL(value []byte) (SSL, error) {
	if len(value) < 5 {
		return SSL{}, fmt.Errorf("%w: %d bytes about TLS", ErrMalformed, len(value))
	}
	sub := TLVs(value[5:])
	if wrong := sub.check(); wrong != "" {
		return SSL{}, fmt.Errorf("%w: about TLS: %s", ErrMalformed, wrong)
	}
	s := SSL{
		TLS: value[0]&sslClient != 0, CertConn: value[0]&sslCertConn != 0, CertSession: value[0]&sslCertSession != 0,
		Verified: binary.BigEndian.Uint32(value[1:]) == 0,
	}
	for kind, v := range sub.All() {
		switch kind {
		case sslVersion:
			s.Version = string(v)
		case sslCN:
			s.CN = string(v)
		case sslCipher:
			s.Cipher = string(v)
		case sslSigAlg:
			s.SigAlg = string(v)
		case sslKeyAlg:
			s.KeyAlg = string(v)
		}
	}
	return s, nil
}

// AppendSSL appends a TLV of type [TLS], unless it would be longer than 65 535 bytes.
func AppendSSL(dst TLVs, s *SSL) TLVs {
	start := len(dst)
	var client byte
	if s.TLS {
		client |= sslClient
	}
	if s.CertConn {
		client |= sslCertConn
	}
	if s.CertSession {
		client |= sslCertSession
	}
	var verify uint32
	if !s.Verified {
		verify = 1
	}
	dst = append(dst, byte(TLS), 0, 0, client)
	dst = binary.BigEndian.AppendUint32(dst, verify)
	for _, sub := range [...]struct {
		kind Type
		text string
	}{{sslVersion, s.Version}, {sslCN, s.CN}, {sslCipher, s.Cipher}, {sslSigAlg, s.SigAlg}, {sslKeyAlg, s.KeyAlg}} {
		if sub.text != "" {
			dst = AppendTLVString(dst, sub.kind, sub.text)
		}
	}
	n := len(dst) - start - tlvLen
	if n > 65535 {
		return dst[:start]
	}
	binary.BigEndian.PutUint16(dst[start+1:], uint16(n))
	return dst
}
