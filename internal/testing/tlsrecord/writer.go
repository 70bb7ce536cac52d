// Package tlsrecord writes records of TLS 1.3 by hand (RFC 8446, sections 5.2 and 7), because crypto/tls has no way to
// send a KeyUpdate.
package tlsrecord

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Writer makes the records of a client or a server.
type Writer struct {
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	seq    uint64
}

// NewWriter makes records for a client that has done its handshake and sent nothing since. keys is what its
// KeyLogWriter was given.
func NewWriter(client *tls.Conn, keys string) (*Writer, error) {
	return newWriter(client, keys, "CLIENT_TRAFFIC_SECRET_0")
}

// NewServerWriter is NewWriter for a server, which has sent no session tickets either.
func NewServerWriter(server *tls.Conn, keys string) (*Writer, error) {
	return newWriter(server, keys, "SERVER_TRAFFIC_SECRET_0")
}

func newWriter(c *tls.Conn, keys, label string) (*Writer, error) {
	if id := c.ConnectionState().CipherSuite; id != tls.TLS_AES_128_GCM_SHA256 {
		return nil, fmt.Errorf("the cipher suite is %s", tls.CipherSuiteName(id))
	}
	for line := range strings.Lines(keys) {
		if f := strings.Fields(line); f[0] == label {
			secret, err := hex.DecodeString(f[2])
			w := &Writer{}
			w.use(secret)
			return w, err
		}
	}
	return nil, errors.New("no secret was logged")
}

func (w *Writer) expand(label string, n int) []byte {
	info := binary.BigEndian.AppendUint16(nil, uint16(n))
	info = append(info, byte(len("tls13 "+label)))
	info = append(append(info, "tls13 "+label...), 0)
	b, err := hkdf.Expand(sha256.New, w.secret, string(info), n)
	if err != nil {
		panic(err)
	}
	return b
}

// use makes secret the one of the records that follow.
func (w *Writer) use(secret []byte) {
	w.secret, w.seq = secret, 0
	block, err := aes.NewCipher(w.expand("key", 16))
	if err != nil {
		panic(err)
	}
	if w.aead, err = cipher.NewGCM(block); err != nil {
		panic(err)
	}
	w.iv = w.expand("iv", 12)
}

// Record returns an encrypted record.
func (w *Writer) Record(kind byte, content []byte) []byte {
	nonce := bytes.Clone(w.iv)
	for i := range 8 {
		nonce[4+i] ^= byte(w.seq >> (56 - 8*i))
	}
	w.seq++
	header := binary.BigEndian.AppendUint16([]byte{23, 3, 3}, uint16(len(content)+1+w.aead.Overhead()))
	return w.aead.Seal(header, nonce, append(bytes.Clone(content), kind), header)
}

// KeyUpdate returns a KeyUpdate that requests one of the other side. Behind it the next secret is in use.
func (w *Writer) KeyUpdate() []byte {
	r := w.Record(22, []byte{24, 0, 0, 1, 1})
	w.use(w.expand("traffic upd", 32))
	return r
}
