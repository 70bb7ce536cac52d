package tlsrecord

import (
	"crypto/cipher"
	"encoding/binary"
)

// half is one direction of a connection.
type half struct {
	suite  *suite
	aead   cipher.AEAD
	seq    uint64          // of the next record
	secret [maxSecret]byte // the first suite.secret bytes of it
	iv     [nonceLen]byte
	nonce  [nonceLen]byte // of the current record; here, so that it is not allocated for each
}

// use makes a traffic secret the one of the records from sequence number 0 on (RFC 8446, section 7.3).
func (h *half) use(secret []byte) error {
	key, err := h.suite.expand(secret, "key", h.suite.key)
	if err != nil {
		return err
	}
	defer clear(key)
	iv, err := h.suite.expand(secret, "iv", nonceLen)
	if err != nil {
		return err
	}
	if h.aead, err = h.suite.newAEAD(key); err != nil {
		return err
	}
	copy(h.secret[:], secret)
	copy(h.iv[:], iv)
	h.seq = 0
	return nil
}

// update makes the next traffic secret the one of the records that follow (RFC 8446, section 7.2).
func (h *half) update() error {
	next, err := h.suite.expand(h.secret[:h.suite.secret], "traffic upd", h.suite.secret)
	if err != nil {
		return err
	}
	defer clear(next)
	return h.use(next)
}

// advance returns the nonce of the next record (RFC 8446, section 5.3), and goes on to the one behind it.
func (h *half) advance() []byte {
	copy(h.nonce[:], h.iv[:])
	last := h.nonce[nonceLen-8:]
	binary.BigEndian.PutUint64(last, binary.BigEndian.Uint64(last)^h.seq)
	h.seq++
	return h.nonce[:]
}

// seal encrypts a record in place. Behind its header is the inner plaintext, and room for a tag.
func (h *half) seal(record []byte) []byte {
	return h.aead.Seal(record[:recordHeader], h.advance(), record[recordHeader:], record[:recordHeader])
}

// open decrypts the body of a record in place, and returns the inner plaintext.
func (h *half) open(header, body []byte) ([]byte, error) {
	return h.aead.Open(body[:0], h.advance(), body, header)
}

// wipe forgets the keys.
func (h *half) wipe() {
	h.aead = nil
	clear(h.secret[:])
	clear(h.iv[:])
	clear(h.nonce[:])
}
