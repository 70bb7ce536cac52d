package tlsrecord

import (
	"bytes"
	"errors"
	"net"
	"testing"
)

// pair returns two Conns that are connected in memory.
func pair(t testing.TB) (client, server *Conn, clientSide, serverSide *side) {
	t.Helper()
	clientConfig, serverConfig := configs(t)
	clientSide, serverSide = shake(t, nil, clientConfig, serverConfig)
	return clientSide.conn(t), serverSide.conn(t), clientSide, serverSide
}

// kinds returns the types of the records that an end is to receive, and follows their key.
func kinds(t testing.TB, h *sealer, e *end) (all []byte) {
	t.Helper()
	for b := e.in.b; len(b) != 0; {
		n := recordHeader + bodyLen(b)
		inner, err := h.open(b[:recordHeader], bytes.Clone(b[recordHeader:n]))
		if err != nil {
			t.Fatal(err)
		}
		kind, content, _ := unpad(inner)
		all = append(all, kind)
		if kind == typeHandshake {
			if !bytes.Equal(content, []byte{typeKeyUpdate, 0, 0, 1, 0}) {
				t.Fatalf("a handshake message of %x", content)
			}
			if err := h.update(); err != nil {
				t.Fatal(err)
			}
		}
		b = b[n:]
	}
	e.in.b = nil
	return all
}

const (
	data     = typeApplicationData
	keys     = typeHandshake
	alerting = typeAlert
)

// The key changes before more records have it than may, and the peer follows.
func TestKeyLimit(t *testing.T) {
	_, server, clientSide, serverSide := pair(t)
	server.limit = 10
	for range 35 {
		if _, err := server.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		server = moved(t, server, serverSide.end)
		server.limit = 10
	}
	if server.out.seq > 10 || server.out.seq == 0 {
		t.Errorf("%d records have the key", server.out.seq)
	}
	if o := receive(clientSide.tls, make([]byte, 100)); len(o.data) != 35 || !o.goesOn() {
		t.Errorf("the peer has got %d bytes: %v", len(o.data), o.err)
	}
	again, err := New(serverSide.end, serverSide.state)
	if err != nil || again.limit != 1<<24 {
		t.Errorf("a limit of %d", again.limit)
	}
	again.out.seq = again.limit
	if _, err := again.Write([]byte("x")); err != nil || again.out.seq != 1 {
		t.Errorf("behind the limit the sequence number is %d", again.out.seq)
	}
}

// KeyUpdates that request one are answered by one, in front of the next data, also in another process, and not behind
// close_notify.
func TestKeyUpdateIsAnsweredOnce(t *testing.T) {
	client, server, clientSide, serverSide := pair(t)
	follow := newSealer(t, serverSide.state.Suite, serverSide.state.Out)
	clientSide.in.b = nil // the ticket
	p := make([]byte, 100)
	for range 3 {
		client.requestUpdate(t)
	}
	if err := client.updateKey(); err != nil { // which takes nothing back
		t.Fatal(err)
	}
	receive(server, p)
	if got := kinds(t, follow, clientSide.end); len(got) != 0 {
		t.Fatalf("Read has written records of types %d", got)
	}
	server = moved(t, server, serverSide.end)
	for range 2 {
		if _, err := server.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if got := kinds(t, follow, clientSide.end); !bytes.Equal(got, []byte{keys, data, data}) {
		t.Fatalf("three KeyUpdates are answered by records of types %d", got)
	}
	if err := client.updateKey(); err != nil {
		t.Fatal(err)
	}
	receive(server, p)
	if _, err := server.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if got := kinds(t, follow, clientSide.end); !bytes.Equal(got, []byte{data}) {
		t.Fatalf("a KeyUpdate that requests nothing is answered by records of types %d", got)
	}
	client.requestUpdate(t)
	receive(server, p)
	if err := server.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Write behind close_notify returns %v", err)
	}
	if got := kinds(t, follow, clientSide.end); !bytes.Equal(got, []byte{alerting}) {
		t.Fatalf("close_notify is in records of types %d", got)
	}
}

// Nothing is written behind close_notify: no second one, and no alert.
func TestNothingBehindCloseNotify(t *testing.T) {
	_, server, clientSide, serverSide := pair(t)
	clientSide.in.b = nil
	for range 2 {
		if err := server.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		server = moved(t, server, serverSide.end)
	}
	serverSide.in.b = []byte{23, 3, 3, 0, 0}
	o := receive(server, make([]byte, 100))
	if follow := newSealer(t, serverSide.state.Suite, serverSide.state.Out); o.goesOn() ||
		!bytes.Equal(kinds(t, follow, clientSide.end), []byte{alerting}) {
		t.Errorf("more than close_notify was written: %v", o.err)
	}
}

// Writes are cut into records that are as large as possible.
func TestRecordSizes(t *testing.T) {
	_, server, clientSide, _ := pair(t)
	clientSide.in.b = nil
	if n, err := server.Write(nil); n != 0 || err != nil || len(clientSide.in.b) != 0 {
		t.Errorf("an empty Write returns %d, %v, and writes %d bytes", n, err, len(clientSide.in.b))
	}
	const size = 2*maxPlaintext + 1
	if n, err := server.Write(zeros(size)); n != size || err != nil {
		t.Errorf("Write returns %d, %v", n, err)
	}
	if got, want := len(clientSide.in.b), size+3*(recordHeader+1+tagLen); got != want {
		t.Errorf("%d bytes are written, want %d", got, want)
	}
}

// failing is a transport whose Write fails after some records.
type failing struct {
	*end
	left int
}

var errBroken = errors.New("broken")

func (f *failing) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errBroken
	}
	return f.end.Write(p)
}

// Write says how much the transport took. Then the connection cannot be continued.
func TestWriteFails(t *testing.T) {
	_, _, _, serverSide := pair(t)
	c, err := New(&failing{serverSide.end, 2}, serverSide.state)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.Write(zeros(3 * maxPlaintext)); n != 2*maxPlaintext || err != errBroken {
		t.Errorf("Write returns %d, %v", n, err)
	}
	if !c.State().Failed {
		t.Error("it could be continued")
	}
	if c, err = New(&failing{serverSide.end, 0}, serverSide.state); err != nil {
		t.Fatal(err)
	}
	c.answer = true
	if n, err := c.Write(zeros(1)); n != 0 || err != errBroken {
		t.Errorf("Write behind a KeyUpdate returns %d, %v", n, err)
	}
}
