package tlsrecord

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
)

// State describes a connection, for a process that continues it. It has secrets, which JSON has, too; fmt prints none.
type State struct {
	Suite     uint16    `json:"suite"`
	Server    bool      `json:"server,omitempty"` // our role
	In        Direction `json:"in"`
	Out       Direction `json:"out"`
	Partial   []byte    `json:"partial,omitempty"`   // of a received record that is not whole
	Plain     []byte    `json:"plain,omitempty"`     // application data that was not read yet
	Handshake []byte    `json:"handshake,omitempty"` // of a received message that is not whole
	Useless   int       `json:"useless,omitempty"`   // records and messages without data, since the last with some
	Answer    bool      `json:"answer,omitempty"`    // a KeyUpdate is to be sent before further data
	Ended     bool      `json:"ended,omitempty"`     // close_notify was received
	Closed    bool      `json:"closed,omitempty"`    // close_notify was sent
	Failed    bool      `json:"failed,omitempty"`    // it cannot be continued
}

// Direction describes one direction of a connection.
type Direction struct {
	Secret   []byte `json:"secret"`   // the traffic secret in use
	Sequence uint64 `json:"sequence"` // of the next record under it
}

// maxSequence is a sequence number that no connection comes to, so that it does not wrap (RFC 8446, section 5.3).
const maxSequence = 1 << 62

// check returns why no connection has this state, or cannot be continued from it.
func (s *State) check() error {
	suite, err := findSuite(s.Suite)
	if err != nil {
		return err
	}
	for _, d := range []*Direction{&s.In, &s.Out} {
		switch {
		case len(d.Secret) != suite.secret:
			return fmt.Errorf("a secret of %d bytes, want %d", len(d.Secret), suite.secret)
		case d.Sequence > maxSequence:
			return fmt.Errorf("the sequence number %d", d.Sequence)
		}
	}
	switch {
	case s.Failed:
		return errors.New("the connection has failed")
	case bytes.Equal(s.In.Secret, s.Out.Secret):
		return errors.New("both directions have the same secret")
	case s.Useless < 0 || s.Useless > maxUseless:
		return fmt.Errorf("%d useless records", s.Useless)
	}
	return s.checkReceived()
}

// checkReceived checks what was received and not read.
func (s *State) checkReceived() error {
	switch {
	case s.Ended && len(s.Partial)+len(s.Plain)+len(s.Handshake) != 0:
		return errors.New("received bytes behind close_notify")
	case len(s.Plain) > maxPlaintext:
		return fmt.Errorf("%d bytes of a record", len(s.Plain))
	case len(s.Plain) != 0 && (len(s.Partial)+len(s.Handshake) != 0 || s.Useless != 0):
		return errors.New("received bytes behind data that was not read")
	}
	if len(s.Partial) >= recordHeader {
		if v := checkHeader(s.Partial); v != nil {
			return fmt.Errorf("received %s", v.what)
		}
		if len(s.Partial) >= recordHeader+bodyLen(s.Partial) {
			return errors.New("received a whole record that was not read")
		}
	}
	if len(s.Handshake) >= messageHeader {
		n, v := messageLen(s.Handshake, s.Server)
		if v != nil {
			return fmt.Errorf("received %s", v.what)
		}
		if len(s.Handshake) >= n {
			return errors.New("received a whole handshake message that was not handled")
		}
	}
	return nil
}

// Wipe forgets the secrets, and the bytes that were received.
func (s *State) Wipe() {
	for _, b := range [][]byte{s.In.Secret, s.Out.Secret, s.Plain, s.Handshake} {
		clear(b)
	}
	*s = State{}
}

// Format prints which connection it is, and no secrets.
func (s State) Format(f fmt.State, _ rune) {
	role := "client"
	if s.Server {
		role = "server"
	}
	fmt.Fprintf(f, "%s of %s, record %d in, %d out", role, tls.CipherSuiteName(s.Suite), s.In.Sequence, s.Out.Sequence)
}

// Format prints the sequence number, and no secret.
func (d Direction) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "record %d", d.Sequence) }
