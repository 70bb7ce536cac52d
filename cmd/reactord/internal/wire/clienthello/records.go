package clienthello

import (
	"encoding/binary"
	"fmt"
)

const (
	recordHeader = 5 // type, version, length
	maxRecord    = 16 << 10

	typeHandshake   = 22
	typeClientHello = 1

	messageHeader = 4 // type, length

	// notAVersion is the lowest major version of a record that crypto/tls refuses. Lower ones are ignored: RFC 8446
	// section 5.1.
	notAVersion = 0x10
)

// reassemble returns the body of the ClientHello message in the records of b. It copies only a message that is spread
// over several records.
func reassemble(b []byte) ([]byte, error) {
	if err := checkFirst(b); err != nil {
		return nil, err
	}
	var head [messageHeader]byte // of the message
	total, have := 0, 0          // its length with the header, 0 until known, and the bytes in the records so far
	for rest := b; ; {
		fragment, size, err := firstRecord(rest)
		if err != nil {
			return nil, err
		}
		copy(head[min(have, messageHeader):], fragment)
		have += len(fragment)
		if have > 0 && head[0] != typeClientHello {
			return nil, fmt.Errorf("%w: a message of type %d and not 1", ErrMalformed, head[0])
		}
		if have >= messageHeader {
			total = messageHeader + int(head[1])<<16 + int(binary.BigEndian.Uint16(head[2:]))
		}
		switch {
		case len(b)-len(rest)+recordHeader+total-(have-len(fragment)) > MaxLen:
			return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLong, MaxLen)
		case total > 0 && have >= total && len(rest) == len(b):
			return fragment[messageHeader:total], nil
		case total > 0 && have >= total:
			return joinRecords(b, total)[messageHeader:], nil
		case len(fragment) < size:
			return nil, ErrIncomplete
		}
		rest = rest[recordHeader+size:]
	}
}

// joinRecords copies the first n bytes of the records' contents, all of which have arrived.
func joinRecords(b []byte, n int) []byte {
	message := make([]byte, 0, n)
	for len(message) < n {
		fragment, _, _ := firstRecord(b)
		message = append(message, fragment[:min(len(fragment), n-len(message))]...)
		b = b[recordHeader+len(fragment):]
	}
	return message
}

// firstRecord returns the content of the first record as far as it has arrived, and its full size.
func firstRecord(b []byte) (fragment []byte, size int, err error) {
	if len(b) > 0 && b[0] != typeHandshake {
		return nil, 0, fmt.Errorf("%w: a record of type %d inside of it", ErrMalformed, b[0])
	}
	if len(b) < recordHeader {
		return nil, 0, ErrIncomplete
	}
	size = int(binary.BigEndian.Uint16(b[3:]))
	if size == 0 || size > maxRecord {
		return nil, 0, fmt.Errorf("%w: a record of %d bytes", ErrMalformed, size)
	}
	b = b[recordHeader:]
	return b[:min(len(b), size)], size, nil
}

// checkFirst checks the first record's type and version, as far as there are bytes.
func checkFirst(b []byte) error {
	switch {
	case len(b) == 0:
		return ErrIncomplete
	case b[0] == 0x80:
		return fmt.Errorf("%w: a hello of SSL 2", ErrNotTLS)
	case b[0] != typeHandshake, len(b) > 1 && b[1] >= notAVersion:
		return fmt.Errorf("%w: the connection begins with %q", ErrNotTLS, b[:min(len(b), 16)])
	}
	return nil
}
