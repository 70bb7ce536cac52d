package tlsrecord

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"testing"
)

// twins are a tls.Conn and a Conn in the same state, and the peer of both.
type twins struct {
	*sealer // of the peer
	suite   uint16
	theirs  *side
	ours    *Conn
	oursEnd *end
	peerEnd *end // of oursEnd
	answers Direction
}

// newTwins does a handshake. The role is that of the twins.
func newTwins(t testing.TB, clientConfig, serverConfig *tls.Config, server bool) *twins {
	t.Helper()
	clientConfig = clientConfig.Clone()
	clientConfig.ClientSessionCache = nil // no tickets are sent, and those of a script are ignored
	peer, twin := shake(t, nil, clientConfig, serverConfig)
	if !server {
		peer, twin = twin, peer
	}
	w := &twins{theirs: twin, suite: twin.state.Suite, answers: twin.state.Out}
	w.oursEnd, w.peerEnd = newEnds(nil)
	w.sealer = newSealer(t, w.suite, peer.state.Out)
	var err error
	if w.ours, err = New(w.oursEnd, twin.state); err != nil {
		t.Fatal(err)
	}
	return w
}

// send sends bytes to both.
func (w *twins) send(b []byte) {
	w.theirs.in.b = append(w.theirs.in.b, b...)
	w.oursEnd.in.b = append(w.oursEnd.in.b, b...)
}

// outcome is what a twin has made of what it received.
type outcome struct {
	data  []byte
	err   error
	alert tls.AlertError // that it has sent, as the last record
	sent  bool
}

// receive reads until there is no more.
func receive(r io.Reader, p []byte) (o outcome) {
	for o.err == nil {
		var n int
		n, o.err = r.Read(p)
		o.data = append(o.data, p[:n]...)
	}
	return o
}

// outcomes returns what both have made of what they received.
func (w *twins) outcomes(t testing.TB, p []byte) (theirs, ours outcome) {
	theirs, ours = receive(w.theirs.tls, p), receive(w.ours, p)
	theirs.alert, theirs.sent = w.lastAlert(t, w.theirs.out.b)
	ours.alert, ours.sent = w.lastAlert(t, w.peerEnd.in.b)
	return theirs, ours
}

// lastAlert returns the alert at the end of what a twin has sent. The key changes with the answer to a KeyUpdate.
func (w *twins) lastAlert(t testing.TB, b []byte) (alert tls.AlertError, sent bool) {
	t.Helper()
	h := newSealer(t, w.suite, w.answers)
	for len(b) >= recordHeader && b[0] == typeApplicationData {
		n := recordHeader + bodyLen(b)
		inner, err := h.open(b[:recordHeader], bytes.Clone(b[recordHeader:n]))
		if err != nil {
			t.Fatalf("an answer of %d bytes: %v", n, err)
		}
		kind, content, v := unpad(inner)
		switch {
		case v != nil:
			t.Fatal(v.what)
		case kind == typeAlert:
			alert, sent = tls.AlertError(content[1]), true
		case kind == typeHandshake:
			if err := h.update(); err != nil {
				t.Fatal(err)
			}
		}
		b = b[n:]
	}
	return alert, sent
}

// goesOn reports whether a twin only waits for more.
func (o *outcome) goesOn() bool { return errors.Is(o.err, os.ErrDeadlineExceeded) }

// differ returns in what the twins differ, or "".
func differ(theirs, ours *outcome) string {
	switch {
	case !bytes.Equal(theirs.data, ours.data):
		return "in the data"
	case theirs.goesOn() != ours.goesOn(), (theirs.err == io.EOF) != (ours.err == io.EOF):
		return "in the error"
	case ours.sent != theirs.sent:
		return "in whether an alert is sent"
	}
	return ""
}
