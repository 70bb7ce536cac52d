package clienthello

import (
	"errors"
	"fmt"
)

// Bounds of a ClientHello. Real ones have hundreds of bytes, or 2 KiB with keys against quantum computers, and a few
// protocols.
const (
	// MaxLen is the maximum length in bytes, including the headers of its records.
	MaxLen = 64 << 10
	// MaxSNI is the maximum length of a server name: RFC 1035 section 2.3.4.
	MaxSNI = 255
	// MaxProtocols is the maximum number of protocols.
	MaxProtocols = 64
)

// Errors of [Parse], to be matched by errors.Is. All but ErrIncomplete are wrapped with the details.
var (
	// ErrIncomplete reports that the bytes so far may begin a ClientHello, and that more are needed. It is never
	// wrapped.
	ErrIncomplete = errors.New("incomplete ClientHello")
	// ErrNotTLS reports a client that does not speak TLS 1.0 or later.
	ErrNotTLS = errors.New("not TLS")
	// ErrMalformed reports TLS that does not begin with a ClientHello as specified.
	ErrMalformed = errors.New("malformed ClientHello")
	// ErrTooLong reports a ClientHello that is longer than MaxLen.
	ErrTooLong = errors.New("ClientHello too long")
)

// Hello is the offer of a client.
type Hello struct {
	// SNI is the name of the server that the client wants, or empty without one.
	SNI string
	// ALPN has the protocols that the client offers, the preferred one first.
	ALPN []string
	// Version is the highest version of TLS that the client offers, as tls.VersionTLS13 of crypto/tls.
	Version uint16
}

// Check returns an error that matches ErrMalformed if a name or protocols are beyond the bounds. [Parse] checks them.
func Check(sni string, protocols int) error {
	switch {
	case len(sni) > MaxSNI:
		return fmt.Errorf("%w: an SNI of %d bytes, more than %d", ErrMalformed, len(sni), MaxSNI)
	case protocols > MaxProtocols:
		return fmt.Errorf("%w: %d protocols, more than %d", ErrMalformed, protocols, MaxProtocols)
	}
	return nil
}

// ParseUpTo parses like [Parse], with a limit of most bytes if that is below [MaxLen].
func ParseUpTo(b []byte, most int) (Hello, error) {
	h, err := Parse(b[:min(len(b), most)])
	if errors.Is(err, ErrIncomplete) && len(b) >= most {
		err = fmt.Errorf("%w: more than %d bytes", ErrTooLong, most)
	}
	return h, err
}

// Parse reads the ClientHello at the start of b, which is everything that has arrived, from the first byte.
func Parse(b []byte) (Hello, error) {
	message, err := reassemble(b)
	if err != nil {
		return Hello{}, err
	}
	return parse(message)
}
