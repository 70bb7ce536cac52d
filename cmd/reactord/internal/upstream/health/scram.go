package health

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxIterations limits the iterations that a server may ask for: they take about a microsecond each. PostgreSQL's
// default is 4096.
const maxIterations = 20_000

// scram is the client's side of SCRAM-SHA-256, without channel binding. The user is empty: PostgreSQL knows it from the
// startup message.
//
// Source: RFC 5802, RFC 7677; "SASL Authentication" of PostgreSQL's manual.
type scram struct {
	password, nonce string
	offload         func(func() ([]byte, error)) ([]byte, error) // runs what takes milliseconds
	signature       []byte                                       // that the server must prove to know
}

func newSCRAM(password string, offload func(func() ([]byte, error)) ([]byte, error)) *scram {
	return &scram{password: password, nonce: rand.Text(), offload: offload}
}

// first returns the client's first message.
func (s *scram) first() []byte { return []byte("n,," + s.bare()) }

func (s *scram) bare() string { return "n=,r=" + s.nonce }

// final returns the client's answer to the server's challenge.
func (s *scram) final(challenge string) ([]byte, error) {
	nonce, salt, iterations, err := s.parse(challenge)
	if err != nil {
		return nil, err
	}
	salted, err := s.offload(func() ([]byte, error) { return s.salted(salt, iterations) })
	if err != nil {
		return nil, err
	}
	answer := "c=biws,r=" + nonce
	all := s.bare() + "," + challenge + "," + answer
	key := sum(salted, "Client Key")
	stored := sha256.Sum256(key)
	proof := make([]byte, sha256.Size)
	subtle.XORBytes(proof, key, sum(stored[:], all))
	s.signature = sum(sum(salted, "Server Key"), all)
	return []byte(answer + ",p=" + base64.StdEncoding.EncodeToString(proof)), nil
}

func (s *scram) salted(salt []byte, iterations int) ([]byte, error) {
	return pbkdf2.Key(sha256.New, s.password, salt, iterations, sha256.Size)
}

// parse returns the attributes of a challenge.
func (s *scram) parse(challenge string) (nonce string, salt []byte, iterations int, err error) {
	parts := strings.Split(challenge, ",")
	if len(parts) >= 3 {
		r, isNonce := strings.CutPrefix(parts[0], "r=")
		text, isSalt := strings.CutPrefix(parts[1], "s=")
		count, isCount := strings.CutPrefix(parts[2], "i=")
		salt, wrongSalt := base64.StdEncoding.DecodeString(text)
		n, wrongCount := strconv.Atoi(count)
		fits := strings.HasPrefix(r, s.nonce) && len(r) > len(s.nonce)
		if isNonce && isSalt && isCount && wrongSalt == nil && wrongCount == nil && fits && n > 0 {
			if n > maxIterations {
				return "", nil, 0, fmt.Errorf("the server asks for %d iterations of SCRAM, more than %d", n, maxIterations)
			}
			return r, salt, n, nil
		}
	}
	return "", nil, 0, errors.New("the server's challenge is not one of SCRAM")
}

// verify checks that the server knows the password, too.
func (s *scram) verify(last string) error {
	text, _ := strings.CutPrefix(last, "v=")
	if got, err := base64.StdEncoding.DecodeString(text); err != nil || s.signature == nil ||
		!hmac.Equal(got, s.signature) {
		return errors.New("the server does not know the password that it asks for")
	}
	return nil
}

func sum(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}
