package starttls

import (
	"bytes"
	"fmt"
	"strings"
)

// imapCapabilities has all capabilities of the server before TLS.
const imapCapabilities = "CAPABILITY IMAP4rev1 STARTTLS LOGINDISABLED"

// imapServer answers a client of IMAP.
func imapServer(d *Dialogue, text, b []byte, n int) error {
	if n == 0 {
		d.send("* OK [", imapCapabilities, "] ", productName, "\r\n")
		d.state = stateHello
		return nil
	}
	tag, rest, _ := strings.Cut(string(text), " ")
	verb, args, _ := strings.Cut(rest, " ")
	if !imapTag(tag) || verb == "" {
		d.send("* BAD A tag and a command are expected\r\n")
		return nil
	}
	if strings.HasSuffix(rest, "}") {
		// The literal that follows is not a line, and must not be taken for a command.
		d.send(tag, " NO [PRIVACYREQUIRED] STARTTLS first\r\n* BYE\r\n")
		return fmt.Errorf("%w: %s with a literal", ErrNoTLS, verb)
	}
	switch strings.ToUpper(verb) {
	case "CAPABILITY":
		d.send("* ", imapCapabilities, "\r\n", tag, " OK Done\r\n")
	case "NOOP":
		d.send(tag, " OK Done\r\n")
	case "LOGOUT":
		d.send("* BYE Bye\r\n", tag, " OK Done\r\n")
		return fmt.Errorf("%w: LOGOUT", ErrNoTLS)
	case "STARTTLS":
		if args != "" {
			d.send(tag, " BAD STARTTLS has no arguments\r\n")
			return nil
		}
		if err := d.finish(b, n); err != nil {
			d.send(tag, " BAD Nothing may follow STARTTLS\r\n* BYE\r\n")
			return err
		}
		d.send(tag, " OK Begin TLS negotiation now\r\n")
	default:
		d.send(tag, " NO [PRIVACYREQUIRED] STARTTLS first\r\n")
	}
	return nil
}

// imapTag reports whether a tag may be repeated in an answer: printable, and without special characters. Source: RFC
// 9051 section 9, "tag".
func imapTag(tag string) bool {
	if tag == "" {
		return false
	}
	for _, c := range []byte(tag) {
		if c <= ' ' || c >= 0x7f || bytes.IndexByte([]byte(`(){%*"\+`), c) >= 0 {
			return false
		}
	}
	return true
}

// imapClient requests TLS from a server of IMAP, or only consumes its greeting.
func imapClient(d *Dialogue, text, b []byte, n int) error {
	if n == 0 {
		return nil // the server greets
	}
	word, rest, _ := strings.Cut(string(text), " ")
	status, _, _ := strings.Cut(rest, " ")
	status = strings.ToUpper(status)
	switch {
	case d.state == stateGreeting:
		switch {
		case word != "*":
			return fmt.Errorf("%w: IMAP does not greet with %q", ErrProtocol, text)
		case status == "PREAUTH" && d.keepGreeting:
			return fmt.Errorf("%w: it greets with PREAUTH", ErrRefused)
		case status != "OK" && status != "PREAUTH":
			return fmt.Errorf("%w: it greets with %q", ErrRefused, text)
		}
		d.greeted(b[:n], true, stateRequested, imapRequest+" STARTTLS\r\n")
	case word == "*" && status == "BYE":
		return fmt.Errorf("%w: it says %q", ErrRefused, text)
	case word == "*": // an unsolicited response
	case word != imapRequest:
		return fmt.Errorf("%w: IMAP does not answer STARTTLS with %q", ErrProtocol, text)
	case status != "OK":
		return fmt.Errorf("%w: it answers STARTTLS with %q", ErrRefused, text)
	default:
		return d.finish(b, n)
	}
	return nil
}

// imapRequest is the tag of the request for TLS.
const imapRequest = "r1"
