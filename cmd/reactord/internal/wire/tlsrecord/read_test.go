package tlsrecord

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
)

// ticket returns a NewSessionTicket with some extensions.
func ticket(extensions ...byte) []byte {
	b := []byte{0, 0, 0, 60, 1, 2, 3, 4, 1, 9, 0, 3, 't', 'k', 't', 0, byte(len(extensions))}
	return message(typeNewSessionTicket, append(b, extensions...)...)
}

func message(kind byte, body ...byte) []byte {
	return append([]byte{kind, byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}, body...)
}

// zeros returns n bytes.
func zeros(n int) []byte { return make([]byte, n) }

// recordCase is what a peer sends, and what is to come of it.
type recordCase struct {
	role    int            // of the twins
	alert   tls.AlertError // to the peer, or fine
	data    string         // delivered
	err     error          // besides alerts to the peer
	differs bool           // from crypto/tls, see doc.go
	parts   []func(*twins) []byte
}

const fine tls.AlertError = 255 // no alert

const (
	both = iota
	client
	server
)

func expect(role int, alert tls.AlertError, data string, parts ...func(*twins) []byte) *recordCase {
	return &recordCase{role: role, alert: alert, data: data, parts: parts}
}

func (c *recordCase) fails(err error) *recordCase { c.err = err; return c }
func (c *recordCase) unlike() *recordCase         { c.differs = true; return c }

// What a peer may send, and may not. Each case goes to a tls.Conn, too.
func TestRecords(t *testing.T) {
	data := func(s string) func(*twins) []byte {
		return func(w *twins) []byte { return w.record(typeApplicationData, []byte(s)) }
	}
	handshake := func(messages ...[]byte) func(*twins) []byte {
		return func(w *twins) []byte { return w.record(typeHandshake, bytes.Join(messages, nil)) }
	}
	alert := func(b ...byte) func(*twins) []byte {
		return func(w *twins) []byte { return w.record(typeAlert, b) }
	}
	inner := func(b []byte) func(*twins) []byte { return func(w *twins) []byte { return w.inner(b) } }
	raw := func(b ...byte) func(*twins) []byte { return func(*twins) []byte { return b } }
	repeat := func(n int, part func(*twins) []byte) func(*twins) []byte {
		return func(w *twins) (all []byte) {
			for range n {
				all = append(all, part(w)...)
			}
			return all
		}
	}
	update := func(request byte) func(*twins) []byte {
		return func(w *twins) []byte { return w.keyUpdate(t, request) }
	}
	forged := func(w *twins) []byte {
		r := w.record(typeApplicationData, []byte("forged"))
		r[len(r)-1] ^= 1
		return r
	}
	keyUpdate := func(b ...byte) []byte { return message(typeKeyUpdate, b...) }

	for name, c := range map[string]*recordCase{
		"data":            expect(both, fine, "onetwo", data("one"), data("two")),
		"padding":         expect(both, fine, "one", inner([]byte("one\x17\x00\x00\x00"))),
		"longest record":  expect(both, fine, string(zeros(maxPlaintext)), data(string(zeros(maxPlaintext)))),
		"longest padding": expect(both, fine, "", inner(append([]byte{23}, zeros(maxPlaintext)...))),
		"too long padding": expect(both, alertRecordOverflow, "",
			inner(append([]byte{23}, zeros(maxPlaintext+1)...))),
		"too much data": expect(both, alertRecordOverflow, "", data(string(zeros(maxPlaintext+1)))),
		"too long":      expect(both, alertRecordOverflow, "", raw(23, 3, 3, 0x41, 0x01)),
		"longest ciphertext": expect(both, alertBadRecordMAC, "",
			raw(append([]byte{23, 3, 3, 0x41, 0x00}, zeros(maxCiphertext)...)...)),
		"only padding":       expect(both, alertUnexpectedMessage, "", inner(zeros(5))),
		"empty plaintext":    expect(both, alertUnexpectedMessage, "", inner(nil)).unlike(),
		"empty ciphertext":   expect(both, alertBadRecordMAC, "", raw(23, 3, 3, 0, 0)),
		"forged":             expect(both, alertBadRecordMAC, "one", data("one"), forged),
		"another version":    expect(both, alertProtocolVersion, "", raw(23, 3, 1, 0, 1, 1)),
		"plain alert":        expect(both, alertUnexpectedMessage, "", raw(21, 3, 3, 0, 2, 1, 0, 0, 0)),
		"change_cipher_spec": expect(both, alertUnexpectedMessage, "", raw(20, 3, 3, 0, 1, 1)).unlike(),
		"sealed ccs":         expect(both, alertUnexpectedMessage, "", inner([]byte{1, 20})).unlike(),
		"unknown type":       expect(both, alertUnexpectedMessage, "", inner([]byte{1, 99})),
		"empty records":      expect(both, fine, "x", repeat(16, data("")), data("x"), repeat(16, data(""))),
		"too many empty":     expect(both, alertUnexpectedMessage, "x", data("x"), repeat(17, data(""))),
		"key updates": expect(both, fine, "xyz",
			update(0), data("x"), update(1), data("y"), update(0), update(0), data("z")),
		"key update flood": expect(both, alertUnexpectedMessage, "", repeat(17, update(0))),
		"flood by kinds": expect(both, alertUnexpectedMessage, "",
			repeat(8, update(0)), repeat(8, data("")), alert(1, 90)),
		"old key":             expect(both, alertBadRecordMAC, "", handshake(keyUpdate(0)), data("x")),
		"behind a key update": expect(both, alertUnexpectedMessage, "", handshake(keyUpdate(0), keyUpdate(0))),
		"bad request":         expect(both, alertIllegalParameter, "", handshake(keyUpdate(2))),
		"short key update":    expect(both, alertDecodeError, "", handshake(keyUpdate())),
		"long key update":     expect(both, alertDecodeError, "", handshake(keyUpdate(0, 0))),
		"empty handshake":     expect(both, alertUnexpectedMessage, "", handshake()),
		"finished":            expect(both, alertUnexpectedMessage, "", handshake(message(20, zeros(32)...))),
		"certificate request": expect(client, alertUnexpectedMessage, "",
			handshake(message(13, 0, 0, 8, 0, 13, 0, 4, 0, 2, 4, 3))),
		"client hello": expect(server, alertUnexpectedMessage, "", handshake(message(1, zeros(40)...)[:10])).unlike(),
		"key update in pieces": expect(both, fine, "x",
			handshake([]byte{24}), handshake([]byte{0, 0, 1}), update2(0), data("x")),
		"data in a message":  expect(both, alertUnexpectedMessage, "", handshake([]byte{24, 0}), data("x")),
		"alert in a message": expect(both, alertUnexpectedMessage, "", handshake([]byte{24, 0}), alert(1, 0)),
		"tickets": expect(client, fine, "x",
			handshake(ticket(), ticket(0, 42, 0, 4, 1, 2, 3, 4)), handshake(ticket()), data("x")),
		"ticket and update": expect(client, alertBadRecordMAC, "", handshake(ticket(), keyUpdate(0)), data("x")),
		"ticket in pieces": expect(client, fine, "x",
			handshake(ticket()[:3]), handshake(ticket()[3:9]), handshake(ticket()[9:]), data("x")),
		"ticket of a client":  expect(server, alertUnexpectedMessage, "", handshake(ticket())),
		"malformed ticket":    expect(client, alertDecodeError, "", handshake(message(4, zeros(20)...))),
		"short ticket":        expect(client, alertDecodeError, "", handshake(message(4, 0, 0))),
		"malformed extension": expect(client, alertDecodeError, "", handshake(ticket(0, 42, 0, 1, 1))),
		"cut extension":       expect(client, alertDecodeError, "", handshake(ticket(0))),
		"huge ticket":         expect(client, alertInternalError, "", handshake([]byte{4, 1, 0, 1})),
		"close_notify":        expect(both, fine, "x", data("x"), alert(1, 0), forged).fails(io.EOF),
		"fatal close_notify":  expect(both, fine, "", alert(2, 0)).fails(io.EOF),
		"user_canceled":       expect(both, fine, "x", alert(1, 90), data("x"), alert(1, 0)).fails(io.EOF),
		"empty alert":         expect(both, alertUnexpectedMessage, "", alert()),
		"long alert":          expect(both, alertUnexpectedMessage, "", alert(1, 0, 0)),
		"alert":               expect(both, fine, "x", data("x"), alert(2, 20)).fails(errRemote),
		"warning":             expect(both, fine, "x", data("x"), alert(1, 112)).fails(errRemote),
	} {
		t.Run(name, func(t *testing.T) {
			clientConfig, serverConfig := configs(t)
			for _, isServer := range []bool{false, true} {
				if c.role == client && isServer || c.role == server && !isServer {
					continue
				}
				for _, size := range []int{3, 18 << 10} {
					w := newTwins(t, clientConfig, serverConfig, isServer)
					for _, part := range c.parts {
						w.send(part(w))
					}
					theirs, ours := w.outcomes(t, make([]byte, size))
					if d := differ(&theirs, &ours); (d != "") != c.differs {
						t.Errorf("server: %t: the twins differ %q\ntheirs: %v\nours: %v", isServer, d, theirs, ours)
					}
					if string(ours.data) != c.data {
						t.Errorf("server: %t: %d bytes are delivered: %.10q", isServer, len(ours.data), ours.data)
					}
					checkError(t, &ours, c.alert, c.err)
					checkSticky(t, w.ours, ours.err)
				}
			}
		})
	}
}

var errRemote = errors.New("an alert of the peer")

// update2 is the end of a KeyUpdate whose beginning was sent.
func update2(request byte) func(w *twins) []byte {
	return func(w *twins) []byte {
		r := w.record(typeHandshake, []byte{request})
		if err := w.update(); err != nil {
			panic(err)
		}
		return r
	}
}

// checkError checks the error of Read, and the alert that was sent.
func checkError(t *testing.T, o *outcome, alert tls.AlertError, want error) {
	t.Helper()
	var op *net.OpError
	var code tls.AlertError
	switch {
	case alert != fine:
		if !o.sent || o.alert != alert || !errors.As(o.err, &op) || op.Op != "local error" ||
			!errors.As(o.err, &code) || code != alert {
			t.Errorf("%v, alert %v", o.err, o.alert)
		}
	case o.sent:
		t.Errorf("%v, alert %v", o.err, o.alert)
	case want == errRemote:
		if !errors.As(o.err, &op) || op.Op != "remote error" || !errors.As(o.err, &code) {
			t.Errorf("%v", o.err)
		}
	case want != nil:
		if o.err != want {
			t.Errorf("%v", o.err)
		}
	case !o.goesOn():
		t.Errorf("%v", o.err)
	}
}

// checkSticky checks that an error remains, that nothing is written behind an alert, and that a state tells of it.
func checkSticky(t *testing.T, c *Conn, err error) {
	t.Helper()
	if n, again := c.Read(make([]byte, 100)); n != 0 || again != err {
		t.Errorf("Read returns %d, %v, and then %v", n, err, again)
	}
	if n, err := c.Read(nil); n != 0 || err != nil {
		t.Errorf("an empty Read returns %d, %v", n, err)
	}
	fails := err != io.EOF && !errors.Is(err, os.ErrDeadlineExceeded)
	_, writeErr := c.Write([]byte("x"))
	if fails != (writeErr == err) || !fails && writeErr != nil {
		t.Errorf("Write fails with %v behind %v", writeErr, err)
	}
	if closeErr := c.CloseWrite(); fails != (closeErr == err) {
		t.Errorf("CloseWrite fails with %v behind %v", closeErr, err)
	}
	s := c.State()
	next, newErr := New(nil, s)
	if (newErr != nil) != fails || s.Ended != (err == io.EOF) {
		t.Errorf("a state behind %v: %v", err, newErr)
	}
	if s.Ended {
		if _, again := next.Read(make([]byte, 100)); again != io.EOF {
			t.Errorf("continued behind %v, Read returns %v", err, again)
		}
	}
}

// A transport may end anywhere. Between records that is io.EOF, and within one it is not.
func TestTransportEnds(t *testing.T) {
	clientConfig, serverConfig := configs(t)
	for _, size := range []int{1, 18 << 10} {
		for at := 0; ; at++ {
			w := newTwins(t, clientConfig, serverConfig, true)
			b := append(w.record(typeApplicationData, []byte("x")), w.record(typeApplicationData, []byte("y"))...)
			if at > len(b) {
				break
			}
			w.send(b[:at])
			w.theirs.in.ended, w.oursEnd.in.ended = true, true
			theirs, ours := w.outcomes(t, make([]byte, size))
			if d := differ(&theirs, &ours); d != "" || theirs.err != ours.err {
				t.Errorf("after %d bytes of %d: %s\ntheirs: %v\nours: %v", at, len(b), d, theirs, ours)
			}
			if _, again := w.ours.Read(make([]byte, 1)); again != ours.err {
				t.Errorf("after %d bytes: %v, and then %v", at, ours.err, again)
			}
			if _, err := w.ours.Write([]byte("z")); err != nil {
				t.Errorf("after %d bytes, Write returns %v", at, err)
			}
		}
	}
}

// reader is a transport that fails.
type reader struct {
	end
	err error
}

func (r *reader) Read([]byte) (int, error)  { return 0, r.err }
func (r *reader) Write([]byte) (int, error) { return 0, r.err }

// An error of the transport is returned as it is, and is final.
func TestTransportFails(t *testing.T) {
	clientConfig, serverConfig := configs(t)
	_, server := shake(t, nil, clientConfig, serverConfig)
	for _, broken := range []error{errors.New("broken"), nil} {
		tr := &reader{err: broken}
		c, err := New(tr, server.state)
		if err != nil {
			t.Fatal(err)
		}
		want := broken
		if broken == nil {
			want = io.ErrNoProgress
		}
		for range 2 {
			if n, err := c.Read(make([]byte, 1)); n != 0 || err != want {
				t.Errorf("Read returns %d, %v, want %v", n, err, want)
			}
			if n, err := c.Write([]byte("x")); err != broken || n != 0 && broken != nil {
				t.Errorf("Write returns %d, %v", n, err)
			}
		}
		tr.err = nil
		if _, err := c.Read(make([]byte, 1)); err != want {
			t.Errorf("Read returns %v, and then %v", want, err)
		}
		if err := c.CloseWrite(); err != broken {
			t.Errorf("CloseWrite returns %v", err)
		}
		if s := c.State(); s.Failed != (broken != nil) {
			t.Errorf("a state whose transport has failed: %v, failed: %t", broken, s.Failed)
		}
	}
}

// A record that comes byte by byte is read, whatever p has room for. A Conn that waits between records has no buffer.
func TestPieces(t *testing.T) {
	clientConfig, serverConfig := configs(t)
	want := make([]byte, 3000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(want)
	for _, size := range []int{1, 100, 2999, 3000, 3016, 3017, 18 << 10} {
		w := newTwins(t, clientConfig, serverConfig, true)
		p := make([]byte, size)
		var got []byte
		for i, b := range w.record(typeApplicationData, want) {
			if len(got) != 0 {
				t.Fatal("a record is delivered before its end")
			}
			if held := w.ours.buffer != nil; held != (i > recordHeader) {
				t.Fatalf("after %d bytes, a buffer: %t", i, held)
			}
			w.oursEnd.in.b = append(w.oursEnd.in.b, b)
			o := receive(w.ours, p)
			got = o.data
		}
		if !bytes.Equal(got, want) || w.ours.buffer != nil {
			t.Errorf("p of %d bytes: %d bytes are delivered; a buffer: %t", size, len(got), w.ours.buffer != nil)
		}
	}
}

// What has no data leaves nothing behind in a Conn.
func TestNothingIsKept(t *testing.T) {
	clientConfig, serverConfig := configs(t)
	for name, records := range map[string]func(w *twins) []byte{
		"empty record": func(w *twins) []byte { return w.record(typeApplicationData, nil) },
		"ticket":       func(w *twins) []byte { return w.record(typeHandshake, ticket()) },
		"ticket in pieces": func(w *twins) []byte {
			return append(w.record(typeHandshake, ticket()[:9]), w.record(typeHandshake, ticket()[9:])...)
		},
		"KeyUpdate": func(w *twins) []byte { return w.keyUpdate(t, 1) },
	} {
		for _, size := range []int{1, 18 << 10} {
			w := newTwins(t, clientConfig, serverConfig, false)
			w.oursEnd.in.b = records(w)
			if o := receive(w.ours, make([]byte, size)); !o.goesOn() || w.ours.buffer != nil || cap(w.ours.hand) != 0 {
				t.Errorf("%s: %v; a buffer: %t; %d bytes of a message", name, o.err, w.ours.buffer != nil, cap(w.ours.hand))
			}
		}
	}
}

// A record that fits is read into p, and one that does not is not lost.
func TestReadInPlace(t *testing.T) {
	clientConfig, serverConfig := configs(t)
	w := newTwins(t, clientConfig, serverConfig, true)
	for _, c := range []struct {
		room    int
		inPlace bool
	}{{100 + 1 + tagLen, true}, {100 + tagLen, false}, {100, false}, {99, false}} {
		w.oursEnd.in.b = w.record(typeApplicationData, zeros(100))
		p := make([]byte, c.room)
		n, err := w.ours.Read(p)
		if n != min(100, c.room) || err != nil || (w.ours.buffer != nil) != (c.room < 100) {
			t.Fatalf("room of %d: %d, %v", c.room, n, err)
		}
		if c.room > 100 && (p[100] == typeApplicationData) != c.inPlace { // the type, behind the content
			t.Errorf("room of %d: in place: %t", c.room, !c.inPlace)
		}
		receive(w.ours, p)
	}
}
