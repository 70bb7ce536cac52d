package starttls

import (
	"bytes"
	"fmt"
	"strings"
)

// pop3Server answers a client of POP3.
func pop3Server(d *Dialogue, text, b []byte, n int) error {
	if n == 0 {
		d.send("+OK ", productName, "\r\n")
		d.state = stateHello
		return nil
	}
	switch strings.ToUpper(string(bytes.TrimRight(text, " "))) {
	case "CAPA":
		d.send("+OK\r\nSTLS\r\n.\r\n")
	case "QUIT":
		d.send("+OK Bye\r\n")
		return fmt.Errorf("%w: QUIT", ErrNoTLS)
	case "STLS":
		if err := d.finish(b, n); err != nil {
			d.send("-ERR Nothing may follow STLS\r\n")
			return err
		}
		d.send("+OK Begin TLS negotiation\r\n")
	default:
		d.send("-ERR STLS first\r\n")
	}
	return nil
}

// pop3Client requests TLS from a server of POP3, or only consumes its greeting.
func pop3Client(d *Dialogue, text, b []byte, n int) error {
	if n == 0 {
		return nil // the server greets
	}
	status, _, _ := strings.Cut(string(text), " ")
	switch {
	case status == "-ERR":
		return fmt.Errorf("%w: it says %q", ErrRefused, text)
	case status != "+OK":
		return fmt.Errorf("%w: POP3 does not say %q", ErrProtocol, text)
	case d.state == stateGreeting:
		d.greeted(b[:n], true, stateRequested, "STLS\r\n")
		return nil
	}
	return d.finish(b, n)
}
