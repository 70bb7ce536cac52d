package starttls

import (
	"bytes"
	"fmt"
)

// productName is the proxy's name in greetings.
const productName = "reactord"

// smtpServer answers a client of SMTP.
func smtpServer(d *Dialogue, text, b []byte, n int) error {
	if n == 0 {
		d.send("220 ", productName, " ESMTP\r\n")
		d.state = stateHello
		return nil
	}
	verb, args, _ := bytes.Cut(text, []byte(" "))
	switch string(bytes.ToUpper(verb)) {
	case "EHLO":
		d.send("250-", productName, "\r\n250 STARTTLS\r\n")
	case "HELO":
		d.send("250 ", productName, "\r\n")
	case "NOOP", "RSET":
		d.send("250 2.0.0 OK\r\n")
	case "QUIT":
		d.send("221 2.0.0 Bye\r\n")
		return fmt.Errorf("%w: QUIT", ErrNoTLS)
	case "STARTTLS":
		if len(bytes.TrimSpace(args)) > 0 {
			d.send("501 5.5.4 STARTTLS has no parameters\r\n")
			return nil
		}
		if err := d.finish(b, n); err != nil {
			d.send("554 5.5.0 Nothing may follow STARTTLS\r\n")
			return err
		}
		d.send("220 2.0.0 Ready to start TLS\r\n")
	default:
		d.send("530 5.7.0 Must issue a STARTTLS command first\r\n")
	}
	return nil
}

// smtpClient requests TLS from a server of SMTP, or only consumes its greeting.
func smtpClient(d *Dialogue, text, b []byte, n int) error {
	if n == 0 {
		return nil // the server greets
	}
	code, last, ok := smtpReply(text)
	if !ok {
		return fmt.Errorf("%w: SMTP has no reply %q", ErrProtocol, text)
	}
	switch d.state {
	case stateGreeting:
		if code != "220" {
			return fmt.Errorf("%w: it greets with %q", ErrRefused, text)
		}
		d.greeted(b[:n], last, stateHello, "EHLO "+productName+"\r\n")
	case stateHello:
		if code != "250" {
			return fmt.Errorf("%w: it answers EHLO with %q", ErrRefused, text)
		}
		d.offersTLS = d.offersTLS || len(text) > 4 && bytes.EqualFold(bytes.TrimSpace(text[4:]), []byte("STARTTLS"))
		if last && !d.offersTLS {
			return fmt.Errorf("%w: it does not offer STARTTLS", ErrRefused)
		}
		if last {
			d.send("STARTTLS\r\n")
			d.state = stateRequested
		}
	case stateRequested:
		if code != "220" {
			return fmt.Errorf("%w: it answers STARTTLS with %q", ErrRefused, text)
		}
		if last {
			return d.finish(b, n)
		}
	}
	return nil
}

// smtpReply returns the code of a line of a reply, and whether it is the last line.
func smtpReply(text []byte) (code string, last, ok bool) {
	if len(text) < 3 || len(text) > 3 && text[3] != ' ' && text[3] != '-' {
		return "", false, false
	}
	for _, c := range text[:3] {
		if c < '0' || c > '9' {
			return "", false, false
		}
	}
	return string(text[:3]), len(text) == 3 || text[3] == ' ', true
}

// greeted consumes a line of the greeting. After the last line, it sends the request; a dialogue of NewGreeted is done.
func (d *Dialogue) greeted(line []byte, last bool, next state, request string) {
	if d.keepGreeting {
		d.greeting = append(d.greeting, line...)
	}
	switch {
	case last && d.keepGreeting:
		d.send(request)
		d.state = next
	case last:
		d.state = stateDone
	}
}
