package starttls

import (
	"bytes"
	"fmt"
	"strings"
)

// imapCapabilities is what the server can do before TLS: nothing else.
const imapCapabilities = "CAPABILITY IMAP4rev1 STARTTLS LOGINDISABLED"

// imapServer answers a client of IMAP.
func imapServer(d *Dialogue, text, b []byte, n int) error {
	if n == 0 {
		d.say("* OK [", imapCapabilities, "] ", name, "\r\n")
		d.state = stateHello
		return nil
	}
	tag, rest, _ := strings.Cut(string(text), " ")
	verb, args, _ := strings.Cut(rest, " ")
	if !imapTag(tag) || verb == "" {
		d.say("* BAD A tag and a command are expected\r\n")
		return nil
	}
	if strings.HasSuffix(rest, "}") {
		// A literal: what follows is not a line, and must not be taken for a command.
		d.say(tag, " NO [PRIVACYREQUIRED] STARTTLS first\r\n* BYE\r\n")
		return fmt.Errorf("%w: %s with a literal", ErrNoTLS, verb)
	}
	switch strings.ToUpper(verb) {
	case "CAPABILITY":
		d.say("* ", imapCapabilities, "\r\n", tag, " OK Done\r\n")
	case "NOOP":
		d.say(tag, " OK Done\r\n")
	case "LOGOUT":
		d.say("* BYE Bye\r\n", tag, " OK Done\r\n")
		return fmt.Errorf("%w: LOGOUT", ErrNoTLS)
	case "STARTTLS":
		if args != "" {
			d.say(tag, " BAD STARTTLS has no arguments\r\n")
			return nil
		}
		if err := d.begin(b, n); err != nil {
			d.say(tag, " BAD Nothing may follow STARTTLS\r\n* BYE\r\n")
			return err
		}
		d.say(tag, " OK Begin TLS negotiation now\r\n")
	default:
		d.say(tag, " NO [PRIVACYREQUIRED] STARTTLS first\r\n")
	}
	return nil
}

// imapTag reports whether a tag may be repeated in an answer: printable, and without what means something. Source: RFC
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

// imapClient asks a server of IMAP, or takes its greeting only.
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
		case status == "PREAUTH" && d.keep:
			return fmt.Errorf("%w: it greets with PREAUTH", ErrRefused)
		case status != "OK" && status != "PREAUTH":
			return fmt.Errorf("%w: it greets with %q", ErrRefused, text)
		}
		d.greeted(b[:n], true, stateAsked, imapRequest+" STARTTLS\r\n")
	case word == "*" && status == "BYE":
		return fmt.Errorf("%w: it says %q", ErrRefused, text)
	case word == "*": // something else that it tells
	case word != imapRequest:
		return fmt.Errorf("%w: IMAP does not answer STARTTLS with %q", ErrProtocol, text)
	case status != "OK":
		return fmt.Errorf("%w: it answers STARTTLS with %q", ErrRefused, text)
	default:
		return d.begin(b, n)
	}
	return nil
}

// imapRequest is the tag of the request for TLS.
const imapRequest = "r1"
