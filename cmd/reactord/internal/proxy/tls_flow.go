package proxy

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"go.uber.org/zap"
)

// A secure connection flows by the pipes of a plain one: their receives, states and counters, which count the bytes
// without TLS. What differs is here: bytes go through crypto/tls, and what is in flight is in a relay.

const (
	// maxRecord is the maximum number of bytes in a TLS record (RFC 8446, section 5.1).
	maxRecord = 16 << 10
	// recordBuffer is the size of a buffer: of a record with what is around it.
	recordBuffer = 18 << 10
	// minRoom is the least room of a buffer that is filled further.
	minRoom = 1 << 10
	// maxRelay bounds the bytes of a relay that wait to be sent. Further received bytes, up to Backend.Buffer, stay
	// unprocessed in their leases.
	maxRelay = 128 << 10
	// floodLimit bounds the bytes of queued answers to KeyUpdates and of alerts, on top of maxRelay.
	floodLimit = 64 << 10
)

// flowSecure begins to carry bytes, if there is TLS on a side.
func (c *conn) flowSecure() {
	for from := range c.pipes {
		c.pipes[from].startSecure(c, from)
	}
	c.restartIdleTimer()
	for from := range c.pipes { // what came with the last bytes of a handshake
		if c.tls.sides[from].more && c.phase == phaseFlowing {
			c.tls.relay(from)
			c.tls.advance(from)
		}
	}
}

// startSecure starts to receive like start, for a connection with TLS on a side.
func (p *pipe) startSecure(c *conn, from int) {
	p.conn, p.from, p.held = c, uint8(from), false
	p.receive().Connect(&p.recv, (*securePipe)(p))
	p.recv.Start()
}

// securePipe is a pipe as the receiver of the bytes of its sending side.
type securePipe pipe

// SetNext takes what was received.
func (p *securePipe) SetNext(lease reactor.Lease) {
	c := p.conn
	s := &c.tls.sides[p.from]
	s.received += uint64(lease.Len())
	c.touch()
	if (*pipe)(p).regime() == regimeDrain {
		lease.Release()
		return
	}
	if s.tls == nil {
		(*pipe)(p).moved(lease.Len())
	}
	s.more = true
	r := c.tls.relay(int(p.from))
	if r.in = append(r.in, lease); !c.rests() {
		c.tls.advance(int(p.from))
	}
}

// SetValue passes on EOF, which may turn out to be a reset.
func (p *securePipe) SetValue(struct{}) {
	c := p.conn
	s := &c.tls.sides[p.from]
	switch plain := (*pipe)(p); {
	case c.phase != phaseFlowing, c.rests(): // then it is found again
	case plain.eofIsReset():
		c.sideReset(int(p.from))
	default:
		c.watchForReset(int(p.from))
		if plain.state != pipeOpen { // behind close_notify
			return
		}
		s.fin, s.more = true, true
		c.tls.relay(int(p.from))
		c.tls.advance(int(p.from))
	}
}

// SetError ends the direction: the sending side was reset.
func (p *securePipe) SetError(err error) { (*pipe)(p).SetError(err) }

// SetStopped ends the connection: the loop is stopping.
func (p *securePipe) SetStopped() { (*pipe)(p).SetStopped() }

// Env returns an empty environment.
func (p *securePipe) Env() sender.Env { return sender.EmptyEnv{} }

// relay is the bytes of a direction that are in flight, and the operation that sends them. While nothing is calling
// crypto/tls, there is a relay exactly while a send is in flight.
type relay struct {
	layer      *tlsLayer
	from       uint8
	in         []reactor.Lease // received; not all of their bytes were taken yet
	head       int             // bytes of the first one that were taken
	credits    int             // of leases that were taken
	out        [][]byte        // what is to be sent
	unsent     int             // bytes of out
	limit      int             // of unsent; then nothing more is taken from in
	send       reactor.SendvOp
	sending    int // buffers of out that are being sent, from the first on; 0: there is no send in flight
	bytes      int // in those
	granted    int // credits to grant when they were sent
	onlyNotify bool
}

// relay returns the relay of a direction, creating it if needed.
func (s *tlsLayer) relay(from int) *relay {
	r := s.relays[from]
	if r == nil {
		w := s.conn.worker()
		r = w.relays.Get()
		r.layer, r.from = s, uint8(from)
		r.limit = min(int(s.conn.config.Buffer), maxRelay)
		s.relays[from] = r
		r.pipe().dst().Sendv(nil).Connect(&r.send, r)
	}
	return r
}

func (r *relay) pipe() *pipe { return &r.layer.conn.pipes[r.from] }

// src and dst return the sides of the direction.
func (r *relay) src() *tlsSide { return &r.layer.sides[r.from] }
func (r *relay) dst() *tlsSide { return &r.layer.sides[1-r.from] }

// pull takes bytes of the first lease.
func (r *relay) pull(p []byte) int {
	n := copy(p, r.in[0].Bytes()[r.head:])
	r.consume(n)
	return n
}

// consume notes that bytes of the first lease were taken.
func (r *relay) consume(n int) {
	lease := r.in[0]
	if r.head += n; r.head == lease.Len() {
		r.head = 0
		r.in = append(r.in[:0], r.in[1:]...)
		r.credits += lease.Credits()
		lease.Release()
	}
}

// append queues a copy of p to be sent, or p itself if it is in the room behind what is queued.
func (r *relay) append(p []byte) {
	if last := len(r.out) - 1; last >= 0 && len(p) != 0 {
		b := r.out[last]
		if room := b[len(b):cap(b)]; len(room) >= len(p) && &room[0] == &p[0] {
			r.filled(b[:len(b)+len(p)])
			return
		}
	}
	for len(p) != 0 {
		b := r.room()
		n := min(len(p), cap(b)-len(b))
		r.filled(append(b, p[:n]...))
		p = p[n:]
	}
}

// room returns a buffer that can be filled further: the last one, or a new one. filled takes it back.
func (r *relay) room() []byte { return r.roomFor(minRoom) }

// roomFor is room with the least that the buffer has room for, which is a record at most.
func (r *relay) roomFor(n int) []byte {
	if last := len(r.out) - 1; last >= r.sending && cap(r.out[last])-len(r.out[last]) >= n {
		return r.out[last]
	}
	b := r.layer.conn.worker().tlsRecords.get()[:0]
	r.out = append(r.out, b)
	return b
}

func (r *relay) filled(b []byte) {
	last := len(r.out) - 1
	r.unsent += len(b) - len(r.out[last])
	r.out[last] = b
}

// advance carries on a direction, and whatever crypto/tls has made of it: answers go the other way.
func (s *tlsLayer) advance(from int) {
	s.relays[from].take()
	for i := range s.relays { // a reset may have ended them meanwhile
		if d := (from + i) & 1; s.relays[d] != nil {
			s.relays[d].sendOrEnd()
		}
	}
}

// take moves bytes through crypto/tls, until there are none or enough wait to be sent.
func (r *relay) take() {
	c := r.layer.conn
	for r.unsent < r.limit && c.phase != phaseClosed && r.pipe().state == pipeOpen && r.step() {
	}
}

// step moves some bytes, and reports whether there may be more.
func (r *relay) step() bool {
	src, dst := r.src(), r.dst()
	switch {
	case src.tls != nil:
		return src.more && r.decrypt()
	case len(r.in) != 0:
		b := r.in[0].Bytes()[r.head:]
		b = b[:min(len(b), maxRecord)]
		ok := dst.encrypt(b)
		r.consume(len(b))
		return ok
	case src.fin:
		r.pipe().state = pipeEOF
	}
	return false
}

// decrypt takes bytes of the sending side: into a buffer to be sent, or to be encrypted for the receiving side.
func (r *relay) decrypt() bool {
	src, dst := r.src(), r.dst()
	var b []byte
	var n int
	var err error
	if dst.tls == nil {
		b = r.room()
		n, err = src.tls.Read(b[len(b):cap(b)])
		r.filled(b[:len(b)+n])
		r.trim()
	} else {
		b = r.layer.conn.worker().plainBuffer()
		n, err = src.tls.Read(b)
	}
	if n > 0 {
		r.pipe().moved(n)
		if dst.tls != nil && !dst.encrypt(b[:n]) {
			return false
		}
	}
	if src.flooded {
		err = errFlood
	}
	switch {
	case err == nil:
		return true
	case errors.Is(err, os.ErrDeadlineExceeded):
	case err == io.EOF && (!src.cut || r.clientEndsLast()): //nolint:errorlint // as Read returns it
		r.pipe().state = pipeEOF
	case src.cut:
		r.layer.conn.failTLS([2]closeReason{reasonClientCut, reasonServerCut}[src.side], err)
	default:
		r.layer.conn.failTLS([2]closeReason{reasonClientTLSData, reasonServerTLSData}[src.side], err)
	}
	src.more = false
	return false
}

// clientEndsLast reports whether the client ends the connection after the server has: such clients often do not say so
// by close_notify, and no awaited byte can be missing.
func (r *relay) clientEndsLast() bool {
	return r.from == client && r.layer.conn.pipes[server].state == pipeHalfClosed
}

// errFlood is the error of a peer that makes us answer and reads nothing.
var errFlood = errors.New("the peer demands answers, and reads none")

// trim gives back the last buffer if it is empty.
func (r *relay) trim() {
	if last := len(r.out) - 1; last >= 0 && len(r.out[last]) == 0 {
		r.layer.conn.worker().tlsRecords.put(r.out[last])
		r.out[last] = nil
		r.out = r.out[:last]
	}
}

// encrypt queues b for the side, and reports whether it could.
func (s *tlsSide) encrypt(b []byte) bool {
	if _, err := s.tls.Write(b); err != nil {
		s.layer.conn.failTLS([2]closeReason{reasonClientTLSData, reasonServerTLSData}[s.side], err)
		return false
	}
	return true
}

// failTLS ends a stream that cannot be continued, because a peer has broken the protocol or has cut the stream off.
// What was received before is delivered, and the alert, and then both sides are reset.
func (c *conn) failTLS(why closeReason, err error) {
	if c.phase != phaseFlowing {
		return
	}
	if entry := c.debug("TLS failed"); entry != nil {
		entry.Write(names(c), zap.Stringer("why", why), zap.Error(err))
	}
	c.why = why
	c.failedTLS(err)
	c.advance(phaseDraining)
	c.restartIdleTimer()
}

// sendOrEnd sends the queued bytes, or ends the relay if there are none.
func (r *relay) sendOrEnd() {
	c, p := r.layer.conn, r.pipe()
	switch {
	case r.sending != 0:
	case c.phase == phaseClosed:
		r.end()
	case len(r.out) != 0:
		r.flush()
	case p.state == pipeEOF && c.phase == phaseFlowing && r.dst().state == tlsOpen:
		r.dst().closeNotify()
		r.onlyNotify = true
		r.sendOrEnd()
	default:
		credits := r.credits
		r.end()
		p.grant(credits)
		switch {
		case c.phase == phaseDraining:
			c.tryReset()
		case c.phase == phaseFlowing && p.state == pipeEOF:
			p.passEOF()
		}
	}
}

// closeNotify queues close_notify.
func (s *tlsSide) closeNotify() {
	_ = s.tls.CloseWrite() // fails if crypto/tls has failed before
	s.state = tlsNotified
}

// flush sends everything that is queued.
func (r *relay) flush() {
	r.sending, r.bytes = min(len(r.out), maxPieces), 0
	r.send.Reset()
	for _, b := range r.out[:r.sending] {
		r.send.Add(b)
		r.bytes += len(b)
	}
	r.granted, r.credits = r.credits, 0
	r.send.Start()
}

// SetValue forgets what was sent. It is less than was given if the connection or the loop is stopping.
func (r *relay) SetValue(sent int) {
	s := r.layer
	if s.conn.rests() {
		r.forgetSent(sent)
		return
	}
	if s.conn.phase == phaseClosed || sent < r.bytes {
		r.SetStopped()
		return
	}
	r.forget(r.sending)
	s.conn.touch()
	r.pipe().grant(r.granted)
	s.advance(int(r.from))
}

// forget gives back the first n buffers.
func (r *relay) forget(n int) {
	w := r.layer.conn.worker()
	for _, b := range r.out[:n] {
		r.unsent -= len(b)
		w.tlsRecords.put(b)
	}
	left := copy(r.out, r.out[n:])
	clear(r.out[left:])
	r.out, r.sending = r.out[:left], 0
}

// forgetSent gives back what was sent of the buffers, because the connection comes to rest.
func (r *relay) forgetSent(sent int) {
	n := 0
	for ; n < r.sending && sent >= len(r.out[n]); n++ {
		sent -= len(r.out[n])
	}
	if n < r.sending {
		r.out[n] = append(r.out[n][:0], r.out[n][sent:]...)
		r.unsent -= sent
	}
	r.forget(n)
}

// SetError ends the direction: the target takes no more bytes. While the connection rests, it is found again. A peer
// may close without waiting for our close_notify: that it was not sent is no error.
func (r *relay) SetError(err error) {
	p, notified := r.pipe(), r.onlyNotify
	if p.conn.rests() {
		r.sending = 0
		return
	}
	r.end()
	if notified && p.conn.phase == phaseFlowing && p.conn.pipes[1-p.from].state.ended() {
		p.state = pipeHalfClosed
		p.conn.directionEnded()
		return
	}
	p.broke(err)
}

// SetStopped ends the direction: the connection or the loop is stopping.
func (r *relay) SetStopped() { r.SetError(syscall.ECANCELED) }

// Env returns an empty environment.
func (r *relay) Env() sender.Env { return sender.EmptyEnv{} }

// end gives the relay back, with all that it has.
func (r *relay) end() {
	w := r.layer.conn.worker()
	r.forget(len(r.out))
	for _, lease := range r.in {
		lease.Release()
	}
	r.layer.relays[r.from] = nil
	w.noSocket.Sendv(nil).Connect(&r.send, r)
	clear(r.in)
	r.layer, r.in, r.head, r.credits, r.granted, r.onlyNotify = nil, r.in[:0], 0, 0, 0, false
	w.relays.Keep(r)
}

// closeNotify writes close_notify to the sides of a closing connection that are not reset, if nothing is in flight to
// them. A peer can then tell the end from a connection that was cut off.
func (s *tlsLayer) closeNotify(sides sideSet) {
	if p := s.conn.phase; p != phaseFlowing && p != phaseDraining {
		return
	}
	for i := range s.sides {
		side := &s.sides[i]
		if !sides.has(i) || side.state != tlsOpen || s.conn.pipes[side.outward()].inFlight() {
			continue
		}
		side.closeNotify()
		if r := s.relays[side.outward()]; r != nil {
			r.flush()
		}
	}
}

// framing follows the records of TLS as crypto/tls is given them. It knows whether the last one is whole, which
// crypto/tls does not tell. The zero framing is before the first record.
type framing struct {
	left   uint16 // bytes of the record that are to come
	header uint8  // bytes of its header that have come, if it is not whole
}

// recordHeader is the length of the header of a record: type, version, length.
const recordHeader = 5

// took notes the next bytes.
func (f *framing) took(b []byte) {
	for len(b) != 0 {
		if f.header == 0 && f.left != 0 {
			n := min(len(b), int(f.left))
			f.left -= uint16(n)
			b = b[n:]
			continue
		}
		if f.header++; f.header >= recordHeader-1 {
			f.left = f.left<<8 | uint16(b[0])
		}
		f.header %= recordHeader
		b = b[1:]
	}
}

// cut reports whether the last record is not whole.
func (f *framing) cut() bool { return f.left != 0 || f.header != 0 }
