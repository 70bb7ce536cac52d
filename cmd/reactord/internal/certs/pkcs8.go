package certs

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des" //nolint:gosec // openssl req of OpenSSL 3.0 writes it by default
	"crypto/pbkdf2"
	"crypto/sha1" //nolint:gosec // the default of RFC 8018, where collisions do not matter
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"hash"
)

// maxIterations limits PBKDF2, which then takes some seconds. OpenSSL writes 2048 by default.
const maxIterations = 10_000_000

// errPassword means that a password does not decrypt a key.
var errPassword = errors.New("wrong password")

// encryptedKey is a private key in PKCS #8 (RFC 5958), encrypted by PBES2 with PBKDF2 (RFC 8018).
type encryptedKey struct {
	kdf    pbkdf2Params
	prf    func() hash.Hash
	cipher blockCipher
	iv     []byte
	text   []byte // one or more blocks
}

type encryptedPrivateKeyInfo struct {
	Algorithm pkix.AlgorithmIdentifier
	Text      []byte
}

type pbes2Params struct{ KDF, Cipher pkix.AlgorithmIdentifier }

type pbkdf2Params struct {
	Salt       []byte
	Iterations int
	KeyLength  int                      `asn1:"optional"`
	PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
}

var (
	oidPBES2  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}
)

// prfs are the pseudorandom functions of PBKDF2, each an HMAC.
var prfs = map[string]func() hash.Hash{
	"":                    sha1.New, // default
	"1.2.840.113549.2.7":  sha1.New,
	"1.2.840.113549.2.9":  sha256.New,
	"1.2.840.113549.2.10": sha512.New384,
	"1.2.840.113549.2.11": sha512.New,
}

// blockCipher is a cipher in CBC mode.
type blockCipher struct {
	keyLength, blockSize int
	make                 func(key []byte) (cipher.Block, error)
}

var blockCiphers = map[string]blockCipher{
	"1.2.840.113549.3.7":      {24, des.BlockSize, des.NewTripleDESCipher},
	"2.16.840.1.101.3.4.1.2":  {16, aes.BlockSize, aes.NewCipher},
	"2.16.840.1.101.3.4.1.22": {24, aes.BlockSize, aes.NewCipher},
	"2.16.840.1.101.3.4.1.42": {32, aes.BlockSize, aes.NewCipher},
}

// parseEncryptedKey parses a key in DER. It fails if no password could decrypt the key.
func parseEncryptedKey(der []byte) (*encryptedKey, error) {
	var (
		info   encryptedPrivateKeyInfo
		scheme pbes2Params
		out    encryptedKey
		ok     bool
	)
	if err := unmarshalAll(der, &info); err != nil {
		return nil, err
	}
	if id := info.Algorithm.Algorithm; !id.Equal(oidPBES2) {
		return nil, fmt.Errorf("the encryption scheme %s is not PBES2", id)
	}
	if err := unmarshalAll(info.Algorithm.Parameters.FullBytes, &scheme); err != nil {
		return nil, err
	}
	if id := scheme.KDF.Algorithm; !id.Equal(oidPBKDF2) {
		return nil, fmt.Errorf("the key derivation function %s is not PBKDF2", id)
	}
	if err := unmarshalAll(scheme.KDF.Parameters.FullBytes, &out.kdf); err != nil {
		return nil, err
	}
	if out.prf, ok = prfs[out.kdf.PRF.Algorithm.String()]; !ok {
		return nil, fmt.Errorf("the function %s of PBKDF2 is not HMAC with SHA-1, SHA-256, SHA-384 or SHA-512",
			out.kdf.PRF.Algorithm)
	}
	if out.cipher, ok = blockCiphers[scheme.Cipher.Algorithm.String()]; !ok {
		return nil, fmt.Errorf("the cipher %s is neither AES-CBC nor DES-EDE3-CBC", scheme.Cipher.Algorithm)
	}
	if err := unmarshalAll(scheme.Cipher.Parameters.FullBytes, &out.iv); err != nil {
		return nil, err
	}
	out.text = info.Text
	switch n := out.kdf.Iterations; {
	case n > maxIterations:
		return nil, fmt.Errorf("%d iterations of PBKDF2 are more than %d", n, maxIterations)
	case n < 1:
		return nil, fmt.Errorf("%d iterations of PBKDF2 are less than 1", n)
	case out.kdf.KeyLength != 0 && out.kdf.KeyLength != out.cipher.keyLength:
		return nil, fmt.Errorf("PBKDF2 makes %d bytes for a cipher whose key has %d", out.kdf.KeyLength,
			out.cipher.keyLength)
	case len(out.iv) != out.cipher.blockSize:
		return nil, fmt.Errorf("the initialization vector has %d bytes instead of %d", len(out.iv), out.cipher.blockSize)
	case len(out.text) == 0 || len(out.text)%out.cipher.blockSize != 0:
		return nil, fmt.Errorf("%d encrypted bytes are not one or more blocks of %d", len(out.text), out.cipher.blockSize)
	}
	return &out, nil
}

// decrypt returns the key in PKCS #8, or errPassword.
func (k *encryptedKey) decrypt(password string) ([]byte, error) {
	key, err := pbkdf2.Key(k.prf, password, k.kdf.Salt, k.kdf.Iterations, k.cipher.keyLength)
	if err != nil {
		return nil, err
	}
	block, err := k.cipher.make(key)
	if err != nil {
		return nil, err
	}
	text := make([]byte, len(k.text))
	cipher.NewCBCDecrypter(block, k.iv).CryptBlocks(text, k.text)
	last := text[len(text)-1]
	padding := int(last)
	if padding < 1 || padding > k.cipher.blockSize ||
		!bytes.HasSuffix(text, bytes.Repeat([]byte{last}, padding)) {
		return nil, errPassword
	}
	text = text[:len(text)-padding]
	// One in 256 wrong passwords leaves valid padding, but none leaves a key.
	var info struct {
		Version    int
		Algorithm  pkix.AlgorithmIdentifier
		PrivateKey []byte
	}
	if unmarshalAll(text, &info) != nil {
		return nil, errPassword
	}
	return text, nil
}

// unmarshalAll unmarshals like encoding/asn1, but refuses trailing bytes.
func unmarshalAll(der []byte, to any) error {
	rest, err := asn1.Unmarshal(der, to)
	if err == nil && len(rest) != 0 {
		err = fmt.Errorf("%d trailing bytes", len(rest))
	}
	if err != nil {
		return fmt.Errorf("malformed: %w", err)
	}
	return nil
}
