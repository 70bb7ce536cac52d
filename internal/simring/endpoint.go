package simring

import (
	"io"
	"net/netip"

	"golang.org/x/sys/unix"
)

// notified takes notice when something has happened to a socket.
type notified interface{ notify() }

// Endpoint is one side of a TCP connection that no thread waits for and no descriptor names: it calls a function when
// something has happened to it, such as bytes that have arrived, or room for more. A run can have very many.
//
// The function is called as an event of its own, not on a thread: it must not wait. After [Endpoint.Close] or
// [Endpoint.Reset] it is not called again.
type Endpoint struct {
	t       *tcp
	handle  func()
	pending bool // an event will call handle
	message message
	piece   [1][]byte
}

// Connect begins to connect to a machine, on which the address at is. from is the address that the machine sees; it
// need not be one of k, which stands for all clients of a network. handle is called when something has happened.
func (k *Kernel) Connect(to *Kernel, from, at netip.AddrPort, handle func()) *Endpoint {
	local := ip(from)
	t := &tcp{sock: sock{node: node{k: k}, family: family(local), kind: unix.SOCK_STREAM, local: local, remote: ip(at)}}
	e := newEndpoint(t)
	e.handle = handle
	t.state = synSent
	t.knockAt(to)
	return e
}

func newEndpoint(t *tcp) *Endpoint {
	e := &Endpoint{t: t}
	t.endpoint = e
	return e
}

// notify calls the function soon, once for all that happens until then.
func (e *Endpoint) notify() {
	if e.pending || e.handle == nil {
		return
	}
	e.pending = true
	e.t.k.at(e.t.k.now, func() {
		if e.pending = false; e.handle != nil {
			e.handle()
		}
	})
}

// Handle sets the function that is called. It is called soon, for what has happened already.
func (e *Endpoint) Handle(f func()) {
	e.handle = f
	e.notify()
}

// Connecting reports whether the connection is being made.
func (e *Endpoint) Connecting() bool { return e.t.state == synSent }

// Local returns the address of this side.
func (e *Endpoint) Local() netip.AddrPort { return e.t.local.AddrPort }

// Remote returns the address of the other side, as this side sees it.
func (e *Endpoint) Remote() netip.AddrPort { return e.t.remote.AddrPort }

// Recv takes bytes that have arrived. The error is EAGAIN if there are none, io.EOF at the end, or why the connection
// has failed; that is returned once.
func (e *Endpoint) Recv(p []byte) (int, error) {
	n := e.t.recv(e.plain(p), 0)
	switch {
	case n < 0:
		return 0, unix.Errno(-n)
	case n == 0 && len(p) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// Send sends bytes, as many as there is room for. The error is EAGAIN if there is none, or why the connection has
// failed.
func (e *Endpoint) Send(p []byte) (int, error) { return result(e.t.send(e.plain(p), 0)) }

// plain returns a message of one piece of memory, which is read or written by a single call.
func (e *Endpoint) plain(p []byte) *message {
	e.piece[0] = p
	e.message.pieces = e.piece[:]
	return &e.message
}

// CloseWrite sends the end of the stream, behind the bytes that were sent.
func (e *Endpoint) CloseWrite() { e.t.shutdown(unix.SHUT_WR) }

// Close closes this side, as close(2) does.
func (e *Endpoint) Close() {
	if e.handle, e.t.endpoint = nil, nil; !e.t.orphaned {
		e.t.release()
	}
}

// Reset closes this side and resets the connection.
func (e *Endpoint) Reset() {
	e.t.linger = true
	e.Close()
}

// Acceptor is a TCP listener that no thread waits for and no descriptor names: it hands each connection to a function.
type Acceptor struct {
	t       *tcp
	accept  func(*Endpoint)
	pending bool
}

// acceptorRoom is how many connections wait for an acceptor: all do until the next event.
const acceptorRoom = 1 << 16

// Accept makes a listener at an address of the machine. accept is called as an event, for each connection; it sets its
// function by [Endpoint.Handle].
func (k *Kernel) Accept(at netip.AddrPort, accept func(*Endpoint)) (*Acceptor, error) {
	local := ip(at)
	t := &tcp{sock: sock{node: node{k: k}, family: family(local), kind: unix.SOCK_STREAM}}
	if errno := k.bind(t, local); errno != 0 {
		return nil, errno
	}
	a := &Acceptor{t: t, accept: accept}
	t.endpoint = a
	return a, failure(t.listen(acceptorRoom))
}

func (a *Acceptor) notify() {
	if a.pending {
		return
	}
	a.pending = true
	a.t.k.at(a.t.k.now, func() {
		a.pending = false
		for len(a.t.backlog) > 0 {
			s, errno := a.t.accept()
			if errno != 0 {
				return
			}
			a.accept(newEndpoint(s.(*tcp)))
		}
	})
}

// Ignore lets the listener ignore connection requests, as a packet filter that drops them does, or answer them again.
// Requests that were ignored are repeated by their senders.
func (a *Acceptor) Ignore(on bool) {
	if a.t.room = a.t.k.roomOf(acceptorRoom); on {
		a.t.room = -1
	}
}

// Close closes the listener.
func (a *Acceptor) Close() {
	a.t.endpoint = nil
	a.t.release()
}
