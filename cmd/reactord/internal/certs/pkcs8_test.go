package certs

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs/certstest"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// A key that protects nothing, as openssl pkcs8 -topk8 has encrypted it.
const (
	fixedPassword = "hush hush"
	fixedKey      = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIEUmzaos3NiD3q6zlCP9DaQS4qst/7awCTNKIZOb4CVI
-----END PRIVATE KEY-----
`
	// By -v2 aes-256-cbc.
	fixedAES256 = `-----BEGIN ENCRYPTED PRIVATE KEY-----
MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiQ5MnDhLwZsAICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEJDIQdubCxcjTkGJiKAB0a8EQNKp
c3dEL7txc0GJ0CxOMnypsZ+dFMKGtsbO7631zLlbyb5oRRgoTn4rUBXslID7bM6o
ED80yETzK9ALqbb3Lx4=
-----END ENCRYPTED PRIVATE KEY-----
`
	// By -v2 aes-128-cbc -v2prf hmacWithSHA1 -iter 1000.
	fixedAES128 = `-----BEGIN ENCRYPTED PRIVATE KEY-----
MIGNMEkGCSqGSIb3DQEFDTA8MBsGCSqGSIb3DQEFDDAOBAjnUWrdREedUAICA+gw
HQYJYIZIAWUDBAECBBD1sjWZ47iHWCvF0C6mrgriBEC6S/lobZh2JKqJPpw5jlHw
iyshQiol28p6mFw73FGMb/C4ihUnyVkJq5c6fAxGExwy+PIB7IheXbszmf/2eXEd
-----END ENCRYPTED PRIVATE KEY-----
`
)

func der(t testing.TB, text string) []byte {
	t.Helper()
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		t.Fatalf("no PEM: %s", text)
	}
	return block.Bytes
}

func TestDecryptKey(t *testing.T) {
	want := der(t, fixedKey)
	for name, text := range map[string]string{"AES-256, SHA-256": fixedAES256, "AES-128, SHA-1": fixedAES128} {
		k, err := parseEncryptedKey(der(t, text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := k.decrypt(fixedPassword); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %x, %v", name, got, err)
		}
		// Of 600 wrong passwords, about two leave a valid padding.
		for i := range 600 {
			if got, err := k.decrypt(strings.Repeat("x", i)); !errors.Is(err, errPassword) {
				t.Fatalf("%s: %x, %v", name, got, err)
			}
		}
	}
}

// mutated returns a key in DER after a change of its parts.
func mutated(t *testing.T, change func(*encryptedPrivateKeyInfo, *pbes2Params, *pbkdf2Params, *[]byte)) []byte {
	t.Helper()
	var (
		info   encryptedPrivateKeyInfo
		scheme pbes2Params
		kdf    pbkdf2Params
		iv     []byte
	)
	for _, part := range []struct {
		to   any
		from func() []byte
	}{
		{&info, func() []byte { return der(t, fixedAES256) }},
		{&scheme, func() []byte { return info.Algorithm.Parameters.FullBytes }},
		{&kdf, func() []byte { return scheme.KDF.Parameters.FullBytes }},
		{&iv, func() []byte { return scheme.Cipher.Parameters.FullBytes }},
	} {
		if err := unmarshalAll(part.from(), part.to); err != nil {
			t.Fatal(err)
		}
	}
	change(&info, &scheme, &kdf, &iv)
	encode := func(v any) []byte {
		b, err := asn1.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	scheme.KDF.Parameters = asn1.RawValue{FullBytes: encode(kdf)}
	scheme.Cipher.Parameters = asn1.RawValue{FullBytes: encode(iv)}
	info.Algorithm.Parameters = asn1.RawValue{FullBytes: encode(scheme)}
	return encode(info)
}

// What no password can decrypt is refused before it costs anything.
func TestUnsupportedKeys(t *testing.T) {
	scrypt := asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11591, 4, 11}
	for want, change := range map[string]func(*encryptedPrivateKeyInfo, *pbes2Params, *pbkdf2Params, *[]byte){
		"10000001 iterations of PBKDF2 are more than 10000000": func(
			_ *encryptedPrivateKeyInfo, _ *pbes2Params, k *pbkdf2Params, _ *[]byte) {
			k.Iterations = maxIterations + 1
		},
		"0 iterations of PBKDF2 are less than 1": func(
			_ *encryptedPrivateKeyInfo, _ *pbes2Params, k *pbkdf2Params, _ *[]byte) {
			k.Iterations = 0
		},
		"PBKDF2 makes 16 bytes for a cipher whose key has 32": func(
			_ *encryptedPrivateKeyInfo, _ *pbes2Params, k *pbkdf2Params, _ *[]byte) {
			k.KeyLength = 16
		},
		"the function 1.3.6.1.4.1.11591.4.11 of PBKDF2 is not HMAC": func(
			_ *encryptedPrivateKeyInfo, _ *pbes2Params, k *pbkdf2Params, _ *[]byte) {
			k.PRF = pkix.AlgorithmIdentifier{Algorithm: scrypt}
		},
		"the key derivation function 1.3.6.1.4.1.11591.4.11 is not PBKDF2": func(
			_ *encryptedPrivateKeyInfo, s *pbes2Params, _ *pbkdf2Params, _ *[]byte) {
			s.KDF.Algorithm = scrypt
		},
		"the cipher 1.3.6.1.4.1.11591.4.11 is neither": func(
			_ *encryptedPrivateKeyInfo, s *pbes2Params, _ *pbkdf2Params, _ *[]byte) {
			s.Cipher.Algorithm = scrypt
		},
		"the encryption scheme 1.3.6.1.4.1.11591.4.11 is not PBES2": func(
			i *encryptedPrivateKeyInfo, _ *pbes2Params, _ *pbkdf2Params, _ *[]byte) {
			i.Algorithm.Algorithm = scrypt
		},
		"the initialization vector has 15 bytes instead of 16": func(
			_ *encryptedPrivateKeyInfo, _ *pbes2Params, _ *pbkdf2Params, iv *[]byte) {
			*iv = (*iv)[1:]
		},
		"63 encrypted bytes are not": func(i *encryptedPrivateKeyInfo, _ *pbes2Params, _ *pbkdf2Params, _ *[]byte) {
			i.Text = i.Text[1:]
		},
		"0 encrypted bytes are not": func(i *encryptedPrivateKeyInfo, _ *pbes2Params, _ *pbkdf2Params, _ *[]byte) {
			i.Text = nil
		},
	} {
		if _, err := parseEncryptedKey(mutated(t, change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := parseEncryptedKey(append(der(t, fixedAES256), 0)); err == nil ||
		!strings.Contains(err.Error(), "1 trailing bytes") {
		t.Errorf("a byte too many: %v", err)
	}
	if _, err := parseEncryptedKey(nil); err == nil || !strings.Contains(err.Error(), "malformed") {
		t.Errorf("nothing: %v", err)
	}
}

// FuzzEncryptedKey parses anything, and decrypts it with any password.
func FuzzEncryptedKey(f *testing.F) {
	for _, text := range []string{fixedAES256, fixedAES128} {
		f.Add(der(f, text), fixedPassword)
		f.Add(der(f, text), "wrong")
	}
	f.Add(der(f, fixedKey), "")
	f.Fuzz(func(t *testing.T, b []byte, password string) {
		k, err := parseEncryptedKey(b)
		if err != nil || k.kdf.Iterations > 4096 {
			return
		}
		got, err := k.decrypt(password)
		if (got == nil) == (err == nil) || len(got) >= len(k.text) {
			t.Fatalf("%d bytes of %d, %v", len(got), len(k.text), err)
		}
	})
}

// openssl runs openssl in a directory, in which the file password has the password.
func openssl(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command("openssl", args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
}

// Keys that OpenSSL has encrypted are used by listeners and by backends.
func TestKeysOfOpenSSL(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip(err)
	}
	a := certstest.New(t)
	cert := a.Issue("cert", newKey(t), time.Hour, "good.test")
	password := a.Write("password", []byte("grüße an alle \nanother line\n"))
	encrypt := func(args ...string) string {
		openssl(t, a.Dir, append(args, "-in", cert, "-out", "key", "-passout", "file:password")...)
		return filepath.Join(a.Dir, "key")
	}
	for _, scheme := range []string{
		"-v2 aes-256-cbc", "-v2 aes-192-cbc -v2prf hmacWithSHA384", "-v2 aes-128-cbc -v2prf hmacWithSHA1 -iter 10000",
		"-v2 des3 -v2prf hmacWithSHA512",
	} {
		key := encrypt(append([]string{"pkcs8", "-topk8"}, strings.Fields(scheme)...)...)
		s := settings(config.Certificate{Cert: cert, Key: key, KeyPasswordFile: password})
		if _, problems := LoadServer(s, nil); len(problems) != 0 {
			t.Errorf("%s: %+v", scheme, problems)
		}
		b := config.NewBackend()
		b.TLS.Enabled, b.TLS.Cert, b.TLS.Key, b.TLS.KeyPasswordFile = true, cert, key, password
		if out, problems := LoadClient(&b.TLS, nil); len(problems) != 0 || out.certificate == nil {
			t.Errorf("%s: %+v", scheme, problems)
		}
	}
	for name, args := range map[string][]string{
		"the encryption scheme 1.2.840.113549.1.12.1.3 is not PBES2": {"pkcs8", "-topk8", "-v1", "PBE-SHA1-3DES"},
		"(DEK-Info), which is not supported":                         {"ec", "-aes256"},
	} {
		s := settings(config.Certificate{Cert: cert, Key: encrypt(args...), KeyPasswordFile: password})
		if out, problems := LoadServer(s, nil); out != nil || len(problems) != 1 ||
			problems[0].Key != "certificates[0].key" || !strings.Contains(problems[0].Text, name) ||
			!strings.Contains(problems[0].Text, "encrypt it again, as with openssl pkcs8 -topk8") {
			t.Errorf("%s: %+v", name, problems)
		}
	}
}

// encryptedPair writes a certificate and its encrypted key into one file.
func encryptedPair(t *testing.T, a *certstest.Authority) string {
	t.Helper()
	key, err := x509.ParsePKCS8PrivateKey(der(t, fixedKey))
	if err != nil {
		t.Fatal(err)
	}
	cert := a.Issue("cert", key.(crypto.Signer), time.Hour, "good.test")
	chain := certstest.Block("CERTIFICATE", a.Pair(cert).Certificate[0])
	return a.Write("cert.pem", append(chain, fixedAES256...))
}

// What is wrong with a password is told at its setting, and without it.
func TestPasswords(t *testing.T) {
	a := certstest.New(t)
	plain := a.Issue("plain", newKey(t), time.Hour, "plain.test")
	cert := encryptedPair(t, a)
	password := filepath.Join(a.Dir, "password")
	notThis := "key_password_file: the first line of " + password + " is not the password of the key in " + cert
	empty := "key_password_file: the first line of " + password + " is empty: write the password there"
	for name, test := range map[string]struct {
		cert, text, want string
	}{
		"first line":  {cert, fixedPassword + "\nmore\n", ""},
		"no newline":  {cert, fixedPassword, ""},
		"CRLF":        {cert, fixedPassword + "\r\n", ""},
		"wrong":       {cert, "unmistakable\n", notThis},
		"blank":       {cert, fixedPassword + " \n", notThis},
		"empty":       {cert, "", empty},
		"second line": {cert, "\n" + fixedPassword, empty},
		"no use":      {plain, fixedPassword, "key_password_file: the key in " + plain + " is not encrypted"},
	} {
		a.Write("password", []byte(test.text))
		out, problems := LoadServer(settings(config.Certificate{Cert: test.cert, KeyPasswordFile: password}), nil)
		if test.want == "" {
			if out == nil || len(problems) != 0 {
				t.Errorf("%s: %+v", name, problems)
			}
			continue
		}
		if len(problems) != 1 || (out != nil) != problems[0].Warning {
			t.Errorf("%s: %+v", name, problems)
			continue
		}
		p := problems[0]
		if text := p.Key + ": " + p.Text; !strings.HasPrefix(text, "certificates[0]."+test.want) {
			t.Errorf("%s: %s", name, text)
		}
		if text := fmt.Sprint(p); strings.Contains(text, "unmistakable") || strings.Contains(text, fixedPassword) {
			t.Errorf("%s: the password is told: %s", name, text)
		}
	}
	s := settings(config.Certificate{Cert: cert, KeyPasswordFile: password + "x"})
	if _, problems := LoadServer(s, nil); len(problems) != 1 || problems[0].Key != "certificates[0].key_password_file" {
		t.Errorf("no file: %+v", problems)
	}
}
