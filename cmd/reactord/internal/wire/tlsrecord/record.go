package tlsrecord

import (
	"bytes"
	"encoding/binary"
	"sync"
)

// The sizes of records (RFC 8446, section 5.2).
const (
	recordHeader  = 5 // type, version, length
	maxPlaintext  = 16 << 10
	maxInner      = maxPlaintext + 1 // with the type, or with padding instead of content
	maxCiphertext = maxPlaintext + 256
)

// The types of records (RFC 8446, section 5.1).
const (
	typeAlert           = 21
	typeHandshake       = 22
	typeApplicationData = 23
)

// The version in the header of every record, that of TLS 1.2.
const (
	versionMajor = 3
	versionMinor = 3
)

// recordBuffer has room for the body of any record.
type recordBuffer [maxCiphertext]byte

// recordBuffers has the buffers that no connection needs.
var recordBuffers = sync.Pool{New: func() any { return new(recordBuffer) }}

func (c *Conn) ensureBuffer() {
	if c.buffer == nil {
		c.buffer = recordBuffers.Get().(*recordBuffer)
	}
}

func (c *Conn) releaseBuffer() {
	if c.buffer != nil {
		recordBuffers.Put(c.buffer)
		c.buffer = nil
	}
}

// bodyLen returns the length of the body that a header announces.
func bodyLen(header []byte) int { return int(binary.BigEndian.Uint16(header[3:])) }

// checkHeader checks the header of a record.
func checkHeader(header []byte) *violation {
	switch {
	case header[0] != typeApplicationData:
		return &violation{alertUnexpectedMessage, "a record that is not encrypted"}
	case header[1] != versionMajor || header[2] != versionMinor:
		return &violation{alertProtocolVersion, "a record of another version"}
	case bodyLen(header) > maxCiphertext:
		return &violation{alertRecordOverflow, "a record that is too long"}
	}
	return nil
}

// unpad returns the type and the content of an inner plaintext.
func unpad(inner []byte) (kind byte, content []byte, v *violation) {
	if len(inner) > maxInner {
		return 0, nil, &violation{alertRecordOverflow, "a record whose content is too long"}
	}
	inner = bytes.TrimRight(inner, "\x00")
	if len(inner) == 0 {
		return 0, nil, &violation{alertUnexpectedMessage, "a record of padding"}
	}
	last := len(inner) - 1
	return inner[last], inner[:last], nil
}
