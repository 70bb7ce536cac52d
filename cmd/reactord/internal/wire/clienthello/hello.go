package clienthello

import (
	"errors"
	"fmt"
)

// Bounds of a ClientHello. Real ones have hundreds of bytes, or 2 KiB with keys against quantum computers, and a few
// protocols.
const (
	// MaxLen is how many bytes it may have, with the headers of its records.
	MaxLen = 64 << 10
	// MaxSNI is how long the name of a server may be: RFC 1035 section 2.3.4.
	MaxSNI = 255
	// MaxProtocols is how many protocols it may offer.
	MaxProtocols = 64
)

// Errors of [Parse], to be matched by errors.Is. All but ErrIncomplete come with what is wrong.
var (
	// ErrIncomplete says that the bytes so far may begin a ClientHello, and that more are needed. It is returned as it
	// is.
	ErrIncomplete = errors.New("incomplete ClientHello")
	// ErrNotTLS says that the client does not speak TLS 1.0 or later.
	ErrNotTLS = errors.New("not TLS")
	// ErrMalformed says that it does, and that this is not a ClientHello as the specification says.
	ErrMalformed = errors.New("malformed ClientHello")
	// ErrTooLong says that the ClientHello is longer than MaxLen.
	ErrTooLong = errors.New("ClientHello too long")
)

// Hello is what a client offers.
type Hello struct {
	// SNI is the name of the server that the client wants. Empty: it does not say.
	SNI string
	// ALPN are the protocols that the client offers, the preferred one first.
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

// ParseUpTo is Parse with another limit than MaxLen.
func ParseUpTo(b []byte, most int) (Hello, error) {
	h, err := Parse(b[:min(len(b), most)])
	if errors.Is(err, ErrIncomplete) && len(b) >= most {
		err = fmt.Errorf("%w: more than %d bytes", ErrTooLong, most)
	}
	return h, err
}

// Parse reads the ClientHello at the start of b, which is everything that has arrived, from the first byte.
func Parse(b []byte) (Hello, error) {
	message, err := gather(b)
	if err != nil {
		return Hello{}, err
	}
	return parse(message)
}
