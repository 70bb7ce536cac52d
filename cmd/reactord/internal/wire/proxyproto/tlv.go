package proxyproto

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"iter"
)

// Type is the type of a TLV. A header may have other types than these: 0xe0 to 0xef belong to applications.
type Type byte

// The types of the specification, section 2.2.
const (
	ALPN      Type = 0x01 // the negotiated protocol
	Authority Type = 0x02 // the host name that the client wants: the SNI
	CRC32C    Type = 0x03 // the checksum of the header
	Noop      Type = 0x04 // to be ignored
	UniqueID  Type = 0x05 // an identifier of the connection, of 128 bytes at most
	TLS       Type = 0x20 // PP2_TYPE_SSL: see SSL
	NetNS     Type = 0x30 // the name of a network namespace
)

// TLVs is a list of types with values, encoded as in a header of version 2. [AppendTLV] and [AppendSSL] add to it.
type TLVs []byte

// tlvLen is the length of a TLV without its value: type, and length of the value.
const tlvLen = 3

// All iterates over the types and values in order, up to a malformed TLV, which [Parse] never returns. Values refer
// to the bytes of t.
func (t TLVs) All() iter.Seq2[Type, []byte] {
	return func(yield func(Type, []byte) bool) {
		for len(t) >= tlvLen {
			n := tlvLen + int(binary.BigEndian.Uint16(t[1:]))
			if n > len(t) || !yield(Type(t[0]), t[tlvLen:n]) {
				return
			}
			t = t[n:]
		}
	}
}

// Get returns the first value of the type, and whether there is one.
func (t TLVs) Get(kind Type) ([]byte, bool) {
	for k, value := range t.All() {
		if k == kind {
			return value, true
		}
	}
	return nil, false
}

// AppendTLV appends a TLV, unless its value has more than 65 535 bytes. The value of a CRC32C is ignored: [Append]
// computes it.
func AppendTLV(dst TLVs, kind Type, value []byte) TLVs { return appendTLV(dst, kind, value) }

// AppendTLVString appends a string like [AppendTLV].
func AppendTLVString(dst TLVs, kind Type, value string) TLVs { return appendTLV(dst, kind, value) }

func appendTLV[V []byte | string](dst TLVs, kind Type, value V) TLVs {
	if kind == CRC32C {
		return append(dst, byte(CRC32C), 0, crc32.Size, 0, 0, 0, 0)
	}
	if len(value) > 65535 {
		return dst
	}
	return append(append(dst, byte(kind), byte(len(value)>>8), byte(len(value))), value...)
}

// check returns what is wrong with t, or "".
func (t TLVs) check() string {
	if n := t.validLen(); n != len(t) {
		return fmt.Sprintf("%d bytes behind the addresses, and the TLVs in them end after %d", len(t), n)
	}
	sums := 0
	for kind, value := range t.All() {
		if kind != CRC32C {
			continue
		}
		if sums++; sums > 1 {
			return "a second CRC32c"
		}
		if len(value) != crc32.Size {
			return fmt.Sprintf("a CRC32c of %d bytes", len(value))
		}
	}
	return ""
}

// validLen returns the length of the well-formed TLVs at the start of t.
func (t TLVs) validLen() int {
	n := 0
	for _, value := range t.All() {
		n += tlvLen + len(value)
	}
	return n
}

// appendTo appends the TLVs of t that fit into room bytes. It returns the index of the CRC32c's value, to be set later,
// or 0 without one.
func (t TLVs) appendTo(dst []byte, room int) (result []byte, sum int) {
	for kind, value := range t.All() {
		if kind == CRC32C {
			if sum > 0 || room < tlvLen+crc32.Size {
				continue
			}
			sum = len(dst) + tlvLen
			value = zeros[:]
		}
		if room -= tlvLen + len(value); room < 0 {
			break
		}
		dst = appendTLV(TLVs(dst), kind, value)
	}
	return dst, sum
}

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	zeros      [crc32.Size]byte
)

// verify checks the CRC32c of a header that ends in t, if t has one.
func (t TLVs) verify(header []byte) error {
	at := len(header) - len(t)
	for kind, value := range t.All() {
		at += tlvLen
		if kind == CRC32C {
			sent, sum := binary.BigEndian.Uint32(value), checksum(header, at)
			if sum != sent {
				return fmt.Errorf("%w: CRC32c is %08x, and the header says %08x", ErrChecksum, sum, sent)
			}
			return nil
		}
		at += len(value)
	}
	return nil
}

// checksum returns the CRC32c of a header, with the CRC32c at an index counted as 0.
func checksum(header []byte, at int) uint32 {
	sum := crc32.Update(0, castagnoli, header[:at])
	sum = crc32.Update(sum, castagnoli, zeros[:])
	return crc32.Update(sum, castagnoli, header[at+crc32.Size:])
}
