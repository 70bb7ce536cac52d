package starttls

import (
	"bytes"
	"errors"
	"fmt"
)

// Bounds of the conversation before TLS.
const (
	// MaxLine is the maximum length of a line, with its CRLF, and of a packet of PostgreSQL.
	MaxLine = 1024
	// MaxLines is the maximum number of lines or packets.
	MaxLines = 64
)

// Errors of [Dialogue.Step], to be matched by errors.Is. They are wrapped with the details.
var (
	// ErrInjected reports plaintext bytes behind the request for TLS or its answer.
	ErrInjected = errors.New("bytes without TLS where TLS begins")
	// ErrNoTLS reports a client that ended the conversation, or sent a command that requires TLS.
	ErrNoTLS = errors.New("the client does not ask for TLS")
	// ErrRefused reports a server that refuses TLS.
	ErrRefused = errors.New("the server refuses TLS")
	// ErrProtocol reports a peer that does not speak the protocol.
	ErrProtocol = errors.New("not the protocol")
	// ErrTooLong reports a line that is too long, or too many lines.
	ErrTooLong = errors.New("too much before TLS")
)

// state is the state of a Dialogue.
//
//	stateStart ──▶ stateGreeting ──▶ stateHello ──▶ stateRequested ──▶ stateDone
//
// A server side is in stateStart until it has greeted, and in stateHello until the client requests TLS. A client side
// waits for the greeting (stateGreeting), for the capabilities of the server (stateHello), and for the answer to its
// request (stateRequested). Protocols skip states that they lack. An error leads to stateFailed from any state.
type state uint8

const (
	stateStart state = iota
	stateGreeting
	stateHello
	stateRequested
	stateDone
	stateFailed
)

// Dialogue is one side of a conversation.
type Dialogue struct {
	// unit consumes one line or packet at the start of b, and returns its length, or 0 if it is incomplete.
	unit func(d *Dialogue, b []byte) (n int, err error)

	state        state
	offersTLS    bool // the server supports TLS
	keepGreeting bool // for Greeting
	units        int  // lines or packets so far
	out          []byte
	greeting     []byte
	err          error
}

// protocol has the sides of a protocol.
type protocol struct {
	server, client, greeted func(*Dialogue, []byte) (int, error)
}

var protocols = map[string]protocol{
	"postgresql": {server: postgresServer, client: postgresClient},
	"smtp":       {server: lines(smtpServer), client: lines(smtpClient), greeted: lines(smtpClient)},
	"imap":       {server: lines(imapServer), client: lines(imapClient), greeted: lines(imapClient)},
	"pop3":       {server: lines(pop3Server), client: lines(pop3Client), greeted: lines(pop3Client)},
}

// NewServer returns the side that answers a client until it requests TLS, or nil for an unknown protocol such as
// "none".
func NewServer(protocol string) *Dialogue { return newDialogue(protocols[protocol].server) }

// NewClient returns the side that requests TLS from a server, or nil for an unknown protocol.
func NewClient(protocol string) *Dialogue {
	d := newDialogue(protocols[protocol].client)
	if d != nil {
		d.keepGreeting = true
	}
	return d
}

// NewGreeted returns the side that only consumes the greeting of a server, or nil for a protocol without greetings.
func NewGreeted(protocol string) *Dialogue { return newDialogue(protocols[protocol].greeted) }

func newDialogue(unit func(*Dialogue, []byte) (int, error)) *Dialogue {
	if unit == nil {
		return nil
	}
	return &Dialogue{unit: unit}
}

// Step continues with in, all the bytes of the peer that no step has used. It uses as many as it can, and is called
// again when more have arrived. The caller sends out before that, also with an error; out is valid until the next call.
// When Step is done, TLS begins, with the rest of in. That is empty, except for a client that began with its
// ClientHello, and behind a greeting that [NewGreeted] has consumed.
//
// After an error, it returns the same error.
func (d *Dialogue) Step(in []byte) (used int, out []byte, done bool, err error) {
	d.out = d.out[:0]
	for d.state < stateDone {
		before := d.state
		n, err := d.next(in[used:])
		used += n
		if err != nil {
			d.state, d.err = stateFailed, err
			break
		}
		if n == 0 && d.state == before {
			break
		}
	}
	return used, d.out, d.state == stateDone, d.err
}

// Greeting returns the whole lines with which the server greeted, once a dialogue of [NewClient] is done. A client
// that waits for a greeting receives it before everything else.
func (d *Dialogue) Greeting() []byte { return d.greeting }

// next consumes a line or packet.
func (d *Dialogue) next(b []byte) (int, error) {
	n, err := d.unit(d, b)
	if n > 0 {
		d.units++
	}
	if err == nil && d.units > MaxLines {
		err = fmt.Errorf("%w: more than %d lines", ErrTooLong, MaxLines)
	}
	return n, err
}

// send appends to what is sent.
func (d *Dialogue) send(parts ...string) {
	for _, s := range parts {
		d.out = append(d.out, s...)
	}
}

// finish ends the dialogue: TLS begins behind the unit of n bytes at the start of b.
func (d *Dialogue) finish(b []byte, n int) error {
	if len(b) > n {
		return fmt.Errorf("%w: %d bytes", ErrInjected, len(b)-n)
	}
	d.state = stateDone
	return nil
}

// lines returns a unit function that calls line for each line: with its text, without the line break, and with all of
// b. At the start, it calls line with n = 0.
func lines(line func(d *Dialogue, text, b []byte, n int) error) func(*Dialogue, []byte) (int, error) {
	return func(d *Dialogue, b []byte) (int, error) {
		if d.state == stateStart {
			d.state = stateGreeting
			return 0, line(d, nil, b, 0)
		}
		end := bytes.IndexByte(b[:min(len(b), MaxLine)], '\n')
		switch {
		case len(b) > 0 && b[0] == clientHello: // waiting for the end of the line would take its time
			return 0, fmt.Errorf("%w: TLS begins without having been asked for", ErrProtocol)
		case end < 0 && len(b) >= MaxLine:
			return 0, fmt.Errorf("%w: a line of more than %d bytes", ErrTooLong, MaxLine)
		case end < 0:
			return 0, nil
		}
		text := bytes.TrimSuffix(b[:end], []byte("\r"))
		if bytes.IndexByte(text, 0) >= 0 {
			return 0, fmt.Errorf("%w: a zero byte in %q", ErrProtocol, text)
		}
		return end + 1, line(d, text, b, end+1)
	}
}

// clientHello is the first byte of a TLS connection: the type of a record with handshake messages.
const clientHello = 22
