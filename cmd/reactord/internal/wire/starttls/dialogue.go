package starttls

import (
	"bytes"
	"errors"
	"fmt"
)

// Bounds of what a peer may say before TLS.
const (
	// MaxLine is the length of a line, with its CRLF, and of a packet of PostgreSQL.
	MaxLine = 1024
	// MaxLines is how many lines or packets there may be.
	MaxLines = 64
)

// Errors of [Dialogue.Step], to be matched by errors.Is. They come with what is wrong.
var (
	// ErrInjected says that bytes without TLS came behind the request for TLS or its answer.
	ErrInjected = errors.New("bytes without TLS where TLS begins")
	// ErrNoTLS says that the client ended the conversation, or did what it may do only in TLS.
	ErrNoTLS = errors.New("the client does not ask for TLS")
	// ErrRefused says that the server does not want to speak TLS.
	ErrRefused = errors.New("the server refuses TLS")
	// ErrProtocol says that the peer does not speak the protocol.
	ErrProtocol = errors.New("not the protocol")
	// ErrTooLong says that a line is too long, or that there are too many.
	ErrTooLong = errors.New("too much before TLS")
)

// state is where a Dialogue is.
//
//	stateStart ──▶ stateGreeting ──▶ stateHello ──▶ stateAsked ──▶ stateDone
//
// A side that answers is in stateStart until it has greeted and in stateHello until it was asked for TLS. A side that
// asks waits for the greeting (stateGreeting), for what the server can do (stateHello), and for the answer to its
// request (stateAsked). Protocols leave out what they have not. An error leads to stateFailed, from anywhere.
type state uint8

const (
	stateStart state = iota
	stateGreeting
	stateHello
	stateAsked
	stateDone
	stateFailed
)

// Dialogue is one side of a conversation.
type Dialogue struct {
	// unit takes one line or packet from the front of b: n bytes of it, 0 if it is not whole.
	unit func(d *Dialogue, b []byte) (n int, err error)

	state    state
	offered  bool // the server has said that it can speak TLS
	keep     bool // what the server greets with is kept
	units    int  // lines or packets so far
	out      []byte
	greeting []byte
	err      error
}

// protocol is both sides of a protocol.
type protocol struct {
	server, client, greeted func(*Dialogue, []byte) (int, error)
}

var protocols = map[string]protocol{
	"postgresql": {server: postgresServer, client: postgresClient},
	"smtp":       {server: lines(smtpServer), client: lines(smtpClient), greeted: lines(smtpClient)},
	"imap":       {server: lines(imapServer), client: lines(imapClient), greeted: lines(imapClient)},
	"pop3":       {server: lines(pop3Server), client: lines(pop3Client), greeted: lines(pop3Client)},
}

// NewServer returns the side that answers a client until it asks for TLS, or nil for an unknown protocol such as
// "none".
func NewServer(protocol string) *Dialogue { return newDialogue(protocols[protocol].server) }

// NewClient returns the side that asks a server for TLS, or nil for an unknown protocol.
func NewClient(protocol string) *Dialogue {
	d := newDialogue(protocols[protocol].client)
	if d != nil {
		d.keep = true
	}
	return d
}

// NewGreeted returns the side that only takes the greeting of a server, or nil for a protocol without greetings.
func NewGreeted(protocol string) *Dialogue { return newDialogue(protocols[protocol].greeted) }

func newDialogue(unit func(*Dialogue, []byte) (int, error)) *Dialogue {
	if unit == nil {
		return nil
	}
	return &Dialogue{unit: unit}
}

// Step continues with in, all the bytes of the peer that no step has used. It takes used of them, and as many as it
// can: it is called again when more have arrived. What it returns as out is to be sent before that, even if there is
// an error; it is valid until the next call. When it is done, TLS begins, with the bytes of in that were not used.
// There are none, except for a client that began with its ClientHello, and behind a greeting that [NewGreeted] has
// taken.
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

// next takes a line or packet.
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

// say appends to what is sent.
func (d *Dialogue) say(parts ...string) {
	for _, s := range parts {
		d.out = append(d.out, s...)
	}
}

// begin ends the dialogue: TLS begins behind the unit of n bytes at the start of b.
func (d *Dialogue) begin(b []byte, n int) error {
	if len(b) > n {
		return fmt.Errorf("%w: %d bytes", ErrInjected, len(b)-n)
	}
	d.state = stateDone
	return nil
}

// lines makes a unit of a function for lines. It is called with the line, without its end, and with all of b; and with
// n = 0 at the start.
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
