package certs

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Problem is an error in the files of a setting, or a warning about them.
type Problem struct {
	Key  string // path of the setting below the TLS settings, such as "certificates[0].cert"
	Text string // what is wrong, with the file
	Err  error  // cause, or nil
	// Warning means that the files are used nevertheless.
	Warning bool
}

// maxFile limits the size of a file.
const maxFile = 4 << 20

// Read reads a file of TLS settings. nil means the file system; others may serve files from memory.
type Read func(path string) ([]byte, error)

// reader reads the files of TLS settings, and collects problems.
type reader struct {
	read     Read
	now      time.Time
	sum      hash.Hash // hash of everything read
	problems []Problem
}

func newReader(read Read) *reader {
	if read == nil {
		read = readFile
	}
	return &reader{read: read, now: time.Now(), sum: sha256.New()}
}

func (r *reader) wrong(key string, err error, format string, args ...any) {
	r.problems = append(r.problems, Problem{Key: key, Text: fmt.Sprintf(format, args...), Err: err})
}

func (r *reader) warn(key, format string, args ...any) {
	r.problems = append(r.problems, Problem{Key: key, Text: fmt.Sprintf(format, args...), Warning: true})
}

// failed reports whether there is a problem that is not just a warning.
func (r *reader) failed() bool {
	for _, p := range r.problems {
		if !p.Warning {
			return true
		}
	}
	return false
}

// fingerprint returns the hash of everything read.
func (r *reader) fingerprint() (f [sha256.Size]byte) {
	copy(f[:], r.sum.Sum(nil))
	return f
}

// file reads a file, and returns false if it failed.
func (r *reader) file(key, path string) ([]byte, bool) {
	b, err := r.read(path)
	if err != nil {
		r.wrong(key, err, "%v", err)
		return nil, false
	}
	fmt.Fprintf(r.sum, "%s %q %d\n", key, path, len(b))
	r.sum.Write(b)
	return b, true
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", path, maxFile)
	}
	return b, err
}

// pair reads a certificate chain and its key from the settings below at. It returns nil if it failed.
func (r *reader) pair(at string, c config.Certificate) *tls.Certificate {
	certKey, keyKey := at+"cert", at+"key"
	if c.Key == "" {
		c.Key, keyKey = c.Cert, certKey
	}
	chain, ok := r.file(certKey, c.Cert)
	if !ok {
		return nil
	}
	secret := chain
	if c.Key != c.Cert {
		if secret, ok = r.file(keyKey, c.Key); !ok {
			return nil
		}
	}
	if !hasBlock(chain, "CERTIFICATE") {
		r.wrong(certKey, nil, "%s has no certificate in PEM", c.Cert)
		return nil
	}
	if secret, ok = r.plainKey(secret, keyKey, c.Key, at+"key_password_file", c.KeyPasswordFile); !ok {
		return nil
	}
	pair, err := tls.X509KeyPair(chain, secret)
	switch {
	case err == nil:
	case mismatch(chain, secret):
		r.wrong(keyKey, err, "the key in %s does not belong to the first certificate in %s", c.Key, c.Cert)
		return nil
	default:
		r.wrong(certKey, err, "%s: %v", c.Cert, err)
		return nil
	}
	if now, leaf := r.now, pair.Leaf; now.After(leaf.NotAfter) {
		r.warn(certKey, "the certificate in %s expired on %s", c.Cert, leaf.NotAfter.Format(time.DateTime))
	} else if now.Before(leaf.NotBefore) {
		r.warn(certKey, "the certificate in %s is not valid before %s", c.Cert, leaf.NotBefore.Format(time.DateTime))
	}
	return &pair
}

func hasBlock(text []byte, kind string) bool {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == kind {
			return true
		}
	}
	return false
}

// encryptAnew is the advice for a key whose encryption is not supported.
const encryptAnew = "encrypt it again, as with openssl pkcs8 -topk8 -v2 aes-256-cbc -in FILE -out NEWFILE"

// plainKey decrypts the first key of a PEM text, and returns it in PEM, or false if it failed.
func (r *reader) plainKey(text []byte, key, path, passwordKey, passwordPath string) ([]byte, bool) {
	block := firstKey(text)
	switch {
	case block == nil:
		r.wrong(key, nil, "%s has no key in PEM", path)
		return nil, false
	case block.Headers["DEK-Info"] != "":
		r.wrong(key, nil, "the key in %s is encrypted in the old form of PEM (DEK-Info), which is not supported: %s", path,
			encryptAnew)
		return nil, false
	case block.Type != "ENCRYPTED PRIVATE KEY":
		if passwordPath != "" {
			r.warn(passwordKey, "the key in %s is not encrypted, so the password has no effect", path)
		}
		return text, true
	case passwordPath == "":
		r.wrong(key, nil, "the key in %s is encrypted: write the file with its password as key_password_file, or decrypt "+
			"it, as with openssl pkey -in FILE -out NEWFILE", path)
		return nil, false
	}
	encrypted, err := parseEncryptedKey(block.Bytes)
	if err != nil {
		r.wrong(key, err, "cannot decrypt the key in %s: %v: %s", path, err, encryptAnew)
		return nil, false
	}
	password, ok := r.password(passwordKey, passwordPath)
	if !ok {
		return nil, false
	}
	der, err := encrypted.decrypt(password)
	switch {
	case errors.Is(err, errPassword):
		r.wrong(passwordKey, err, "the first line of %s is not the password of the key in %s", passwordPath, path)
		return nil, false
	case err != nil:
		r.wrong(key, err, "cannot decrypt the key in %s: %v", path, err)
		return nil, false
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), true
}

// firstKey returns the first key of a PEM text, or nil.
func firstKey(text []byte) *pem.Block {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return block
		}
	}
	return nil
}

// password reads the first line of a file, and returns false if it failed.
func (r *reader) password(key, path string) (string, bool) {
	text, ok := r.file(key, path)
	if !ok {
		return "", false
	}
	line, _, _ := strings.Cut(string(text), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" {
		r.wrong(key, nil, "the first line of %s is empty: write the password there", path)
	}
	return line, line != ""
}

// mismatch reports whether a certificate and a key are well-formed but do not belong together.
func mismatch(chain, secret []byte) bool {
	block, rest := pem.Decode(chain)
	for block != nil && block.Type != "CERTIFICATE" {
		block, rest = pem.Decode(rest)
	}
	if block == nil {
		return false
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		return false
	}
	for block, rest = pem.Decode(secret); block != nil; block, rest = pem.Decode(rest) {
		_, err1 := x509.ParsePKCS8PrivateKey(block.Bytes)
		_, err2 := x509.ParsePKCS1PrivateKey(block.Bytes)
		_, err3 := x509.ParseECPrivateKey(block.Bytes)
		if err1 == nil || err2 == nil || err3 == nil {
			return true
		}
	}
	return false
}

// authorities reads the certificates of authorities, and the hash of the file. It returns nil if it failed or there
// is no file.
func (r *reader) authorities(key, path string) (pool *x509.CertPool, sum [sha256.Size]byte) {
	if path == "" {
		return nil, sum
	}
	text, ok := r.file(key, path)
	if !ok {
		return nil, sum
	}
	pool = x509.NewCertPool()
	if err := addAll(pool, text); err != nil {
		r.wrong(key, err, "%s: %v", path, err)
		return nil, sum
	}
	return pool, sha256.Sum256(text)
}

func addAll(pool *x509.CertPool, text []byte) error {
	n := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return err
		}
		pool.AddCert(c)
		n++
	}
	if n == 0 {
		return errors.New("no certificate in PEM")
	}
	return nil
}
