package tlsrecord

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// script has twins receive what the bytes of a script say.
type script struct {
	*twins
	t       *testing.T
	b       []byte
	p       []byte // to read into
	sealed  []byte // application data that was sent
	theirs  outcome
	ours    outcome
	stopped bool // a twin has failed
}

// take takes the next bytes of the script.
func (s *script) take(n int) []byte {
	n = min(n, len(s.b))
	b := s.b[:n]
	s.b = s.b[n:]
	return b
}

// The steps of a script, in the low bits of a byte.
const (
	stepData = iota
	stepHandshake
	stepAlert
	stepOther // a record of any type
	stepRaw
	stepUpdate
	stepMove
	stepRead
	steps
)

// step makes the next step. Its other bits and the next byte are the padding and the length of a record.
func (s *script) step() {
	op := s.take(1)[0]
	padding, length := zeros(int(op>>3)%4*7), 0
	if b := s.take(1); len(b) == 1 {
		length = int(b[0])
	}
	switch op % steps {
	case stepData:
		content := bytes.Repeat(s.take(length), 1+int(op>>5)*20)
		content = content[:min(len(content), maxPlaintext-len(padding))]
		s.sendInner(append(append(bytes.Clone(content), typeApplicationData), padding...))
	case stepHandshake:
		s.sendInner(append(append(bytes.Clone(s.take(length)), typeHandshake), padding...))
	case stepAlert:
		s.sendInner(append(bytes.Clone(s.take(length)), typeAlert))
	case stepOther:
		s.sendInner(s.take(length))
	case stepRaw:
		s.send(s.take(length))
	case stepUpdate:
		s.send(s.keyUpdate(s.t, op>>3&1))
	case stepMove:
		if !s.stopped {
			s.twins.ours = moved(s.t, s.twins.ours, s.oursEnd)
		}
	case stepRead:
		s.p = make([]byte, []int{1, 30, 1 << 10, 18 << 10}[op>>3%4])
		s.read()
	}
}

// sendInner sends a record of an inner plaintext, and follows what it means.
func (s *script) sendInner(inner []byte) {
	s.send(s.inner(inner))
	switch kind, content, _ := unpad(inner); {
	case kind == typeApplicationData:
		s.sealed = append(s.sealed, content...)
	case kind == typeHandshake && len(content) == 5 && bytes.HasPrefix(content, []byte{typeKeyUpdate, 0, 0, 1}):
		_ = s.update()
	}
}

// read has both read until there is no more.
func (s *script) read() {
	more := func(r io.Reader, o *outcome) {
		if o.err == nil || o.goesOn() {
			next := receive(r, s.p)
			o.data, o.err = append(o.data, next.data...), next.err
			s.stopped = s.stopped || !o.goesOn()
		}
	}
	more(s.twins.theirs.tls, &s.theirs)
	more(s.twins.ours, &s.ours)
}

// stricter reports whether a Conn has refused what a tls.Conn does not, as doc.go says.
func (s *script) stricter() bool {
	var alert tls.AlertError
	if !errors.As(s.ours.err, &alert) || alert != alertUnexpectedMessage {
		return false
	}
	text := s.ours.err.Error()
	plain := s.twins.ours.header[0] == 20
	return plain || strings.HasSuffix(text, "type 20") || strings.HasSuffix(text, "padding")
}

// FuzzRead receives any records and any bytes: what is delivered was sealed, and a tls.Conn delivers the same and fails
// at the same place.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"\x00\x05hello\x07\x00\x20\x05again",
		"\x05\x00\x0d\x00\x08\x03xyz\x07\x00\x06\x00\x00\x01a",
		"\x01\x05\x18\x00\x00\x01\x01\x00\x01x\x1f\x00\x02\x02\x01\x00",
		"\x01\x03\x18\x00\x00\x06\x00\x01\x02\x01\x00\x00\x01x",
		"\x01\x15\x04\x00\x00\x11\x00\x00\x00\x3c\x01\x02\x03\x04\x01\x09\x00\x03tkt\x00\x00\x00\x01x",
		"\x02\x02\x01\x5a\x00\x00\x02\x02\x02\x28",
		"\x03\x02\x01\x63\x04\x06\x17\x03\x03\x00\x01\x00",
		"\xe0\xff" + string(bytes.Repeat([]byte("long"), 64)) + "\x0f\x00\x06\x00",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	clientConfig, serverConfig := configs(f)
	f.Fuzz(func(t *testing.T, b []byte, server bool) {
		s := &script{twins: newTwins(t, clientConfig, serverConfig, server), t: t, b: b, p: make([]byte, 18<<10)}
		for len(s.b) != 0 {
			s.step()
		}
		s.sendInner([]byte("end\x17")) // a Conn may refuse the beginning of what a tls.Conn waits for
		s.read()
		s.twins.theirs.in.ended, s.oursEnd.in.ended = true, true
		s.read()
		switch {
		case !bytes.HasPrefix(s.sealed, s.ours.data):
			t.Fatalf("delivered %q of %q", s.ours.data, s.sealed)
		case s.stricter() && bytes.HasPrefix(s.theirs.data, s.ours.data):
		case !bytes.Equal(s.theirs.data, s.ours.data), (s.theirs.err == io.EOF) != (s.ours.err == io.EOF):
			t.Fatalf("theirs: %q, %v\nours: %q, %v", s.theirs.data, s.theirs.err, s.ours.data, s.ours.err)
		}
	})
}

// FuzzState continues from any state: what is not refused is the state of a connection, which reads and writes.
func FuzzState(f *testing.F) {
	_, server, _, _ := pair(f)
	for _, change := range []func(s *State){
		func(*State) {},
		func(s *State) { s.Partial = []byte{23, 3, 3, 0, 20, 1, 2} },
		func(s *State) { s.Plain = []byte("plain") },
		func(s *State) { s.Handshake, s.Useless, s.Answer = []byte{24, 0}, 3, true },
		func(s *State) { s.Ended, s.Closed = true, true },
		func(s *State) { s.Suite, s.Server = 0x1303, false },
		func(s *State) { s.Suite, s.In.Secret, s.Out.Secret = 0x1302, zeros(48), append(zeros(47), 1) },
	} {
		s := server.State()
		change(&s)
		text, _ := json.Marshal(&s)
		f.Add(string(text), []byte{23, 3, 3, 0, 1, 0})
	}
	f.Fuzz(func(t *testing.T, text string, received []byte) {
		var s State
		if json.Unmarshal([]byte(text), &s) != nil {
			return
		}
		e, _ := newEnds(nil)
		e.in.b = received
		c, err := New(e, s)
		if err != nil {
			return
		}
		want, _ := json.Marshal(&s)
		if got, _ := json.Marshal(c.State()); !bytes.Equal(got, want) {
			t.Fatalf("the state is\n%s, and was\n%s", got, want)
		}
		if _, err := c.Write([]byte("x")); (err == nil) == s.Closed {
			t.Fatal(err)
		}
		if o := receive(c, make([]byte, 20)); !bytes.Equal(o.data, s.Plain) {
			t.Fatalf("read %q, want %q", o.data, s.Plain)
		}
	})
}
