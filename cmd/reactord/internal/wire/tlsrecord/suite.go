package tlsrecord

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"hash"

	"golang.org/x/crypto/chacha20poly1305"
)

// suite is a cipher suite of TLS 1.3 (RFC 8446, appendix B.4).
type suite struct {
	id      uint16
	hash    func() hash.Hash
	secret  int // the length of a traffic secret, which is that of the hash
	key     int // the length of a key
	newAEAD func(key []byte) (cipher.AEAD, error)
}

// All AEADs have nonces and tags of these lengths.
const (
	nonceLen = 12
	tagLen   = 16
)

// maxSecret is the length of the longest traffic secret.
const maxSecret = sha512.Size384

var suites = [...]suite{
	{tls.TLS_AES_128_GCM_SHA256, sha256.New, sha256.Size, 16, newGCM},
	{tls.TLS_AES_256_GCM_SHA384, sha512.New384, sha512.Size384, 32, newGCM},
	{tls.TLS_CHACHA20_POLY1305_SHA256, sha256.New, sha256.Size, chacha20poly1305.KeySize, chacha20poly1305.New},
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// findSuite returns the suite with an id.
func findSuite(id uint16) (*suite, error) {
	for i := range suites {
		if suites[i].id == id {
			return &suites[i], nil
		}
	}
	return nil, fmt.Errorf("%s is not a cipher suite of TLS 1.3", tls.CipherSuiteName(id))
}

// expand derives n bytes from a secret: HKDF-Expand-Label without a context (RFC 8446, section 7.1).
func (s *suite) expand(secret []byte, label string, n int) ([]byte, error) {
	const prefix = "tls13 "
	info := binary.BigEndian.AppendUint16(nil, uint16(n))
	info = append(info, byte(len(prefix)+len(label)))
	info = append(append(info, prefix...), label...)
	return hkdf.Expand(s.hash, secret, string(append(info, 0)), n)
}
