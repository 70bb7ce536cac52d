package clienthello

import "errors"

// MaxLen is how many bytes a ClientHello may have, with the headers of its records. Real ones have hundreds, or 2 KiB
// with keys against quantum computers.
const MaxLen = 64 << 10

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

// Parse reads the ClientHello at the start of b, which is everything that has arrived, from the first byte.
func Parse(b []byte) (Hello, error) {
	message, err := gather(b)
	if err != nil {
		return Hello{}, err
	}
	return parse(message)
}
