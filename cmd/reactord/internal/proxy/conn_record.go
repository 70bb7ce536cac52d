package proxy

import (
	"net/netip"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy/accesslog"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/handover"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/tlscause"
)

// logRecord notes for the access log what a connection does not know at its end. Methods do nothing on nil, for a
// connection that is not logged. Times are the loop's.
type logRecord struct {
	peer          netip.AddrPort // of the client's socket
	phases        [accesslog.PhaseCount]time.Duration
	phaseBegan    int64          // when the phase in progress began
	queuedAt      int64          // when the connection joined the queue; 0: it is not in it
	interimDue    int64          // of the next interim line
	err           error          // why the last attempt, or a handshake, has failed
	cause         tlscause.Cause // of err, if TLS has failed
	attempts      int32
	retries       int32
	queuePosition int32 // connections that were in the queue before this one
}

// begin begins the record of a connection that was accepted just now.
func (r *logRecord) begin(now int64, peer netip.AddrPort, interim time.Duration) {
	*r = logRecord{peer: peer, phaseBegan: now, interimDue: int64(forever)}
	for i := range r.phases {
		r.phases[i] = accesslog.NotReached
	}
	if interim > 0 {
		r.interimDue = now + int64(interim)
	}
}

// opened notes that the PROXY header and the ClientHello have come.
func (r *logRecord) opened(now int64) { r.done(accesslog.Opening, now) }

// clientTLSDone notes the end of the handshake with the client.
func (r *logRecord) clientTLSDone(now int64) { r.done(accesslog.ClientTLS, now) }

// serverTLSDone notes the end of the handshake with the server.
func (r *logRecord) serverTLSDone(now int64) { r.done(accesslog.ServerTLS, now) }

func (r *logRecord) done(p accesslog.Phase, now int64) {
	if r != nil {
		r.phases[p] = time.Duration(now - r.phaseBegan)
		r.phaseBegan = now
	}
}

// queued notes that the connection joins the queue behind others.
func (r *logRecord) queued(now int64, position int64) {
	if r != nil {
		r.queuedAt, r.queuePosition = now, int32(position)
	}
}

// requeued notes that the connection is in the queue again.
func (r *logRecord) requeued(now int64) {
	if r != nil {
		r.queuedAt = now
	}
}

// leftQueue notes that the connection is no longer in the queue, if it was there.
func (r *logRecord) leftQueue(now int64) {
	if r != nil && r.queuedAt != 0 {
		queue := &r.phases[accesslog.Queue]
		*queue = max(*queue, 0) + time.Duration(now-r.queuedAt)
		r.queuedAt = 0
	}
}

// picked notes that a server was chosen, and is tried.
func (r *logRecord) picked(now int64) {
	if r == nil {
		return
	}
	r.attempts++
	r.leftQueue(now)
	r.phases[accesslog.Queue] = max(r.phases[accesslog.Queue], 0)
}

// retried notes that there is another attempt.
func (r *logRecord) retried() {
	if r != nil {
		r.retries++
	}
}

// connected notes that the server is connected. Time that was not spent in the queue counts as connecting.
func (r *logRecord) connected(now int64) {
	if r != nil {
		r.phases[accesslog.Connect] = time.Duration(now-r.phaseBegan) - r.phases[accesslog.Queue]
		r.phaseBegan, r.err, r.cause = now, nil, tlscause.None
	}
}

// failed notes why an attempt or a handshake has failed.
func (r *logRecord) failed(err error) {
	if r != nil {
		r.err, r.cause = err, tlscause.None
	}
}

// failedTLS notes why TLS with a side has failed.
func (c *conn) failedTLS(err error) {
	c.cause = tlscause.Of(err)
	if c.log != nil {
		c.log.err, c.log.cause = err, c.cause
	}
}

// beginLogRecord begins the log record of the connection, if its listener is logged. A zero peer is looked up with
// getpeername(2).
func (c *conn) beginLogRecord(s *settings, peer netip.AddrPort) {
	w := c.worker()
	if w.accessLog == nil || !s.AccessLog {
		return
	}
	if !peer.IsValid() {
		peer = c.peerAddr()
	}
	c.log = w.logRecords.Get()
	c.log.begin(w.loop.Now(), unmapped(peer), w.accessLog.Settings().Interim)
	c.peer = &c.log.peer
}

// end describes the end of the connection.
func (c *conn) end() accesslog.End {
	end := c.why.inPhase(c.phaseName())
	if c.awaitedServer() {
		end.Code = codeAwaitsServer
	}
	return end
}

// logEnd writes the line of a connection that ends, with what the kernel has told of its sides.
func (c *conn) logEnd(tcp *[2]TCP) {
	w := c.worker()
	if c.log == nil || w.accessLog == nil {
		return
	}
	s := w.accessLog.Settings()
	if s.SkipEmpty && c.empty() || !c.logs(s, c.why == reasonNormal && c.log.retries == 0) {
		return
	}
	if (c.why == reasonSourceRate || c.why == reasonSourceConns) && !w.takeRefusedLine() {
		return
	}
	r := c.line(tcp)
	r.End = c.end()
	w.accessLog.Log(r)
}

// awaitedServer reports whether the connection has ended because the server was silent, as HAProxy tells it: the client
// has spoken last, or has sent EOF.
func (c *conn) awaitedServer() bool {
	switch c.why {
	case reasonIdle:
		return c.pipes[client].bytes > 0 && c.lastFrom == client
	case reasonHalfClosed:
		return c.pipes[client].state.ended()
	}
	return false
}

// logInterim writes a line of a connection that stays open, if one is due.
func (c *conn) logInterim() {
	now := c.loop().Now()
	if c.log == nil || now < c.log.interimDue {
		return
	}
	w := c.worker()
	c.log.interimDue = int64(forever)
	if w.accessLog == nil {
		return
	}
	s := w.accessLog.Settings()
	if s.Interim > 0 {
		c.log.interimDue = now + int64(s.Interim)
	}
	if !c.logs(s, c.log.retries == 0) {
		return
	}
	tcp := c.sampleTCP()
	r := c.line(&tcp)
	r.Interim, r.End = true, stillOpen(c.phaseName())
	w.accessLog.Log(r)
}

// empty reports whether the client has ended the connection without a byte.
func (c *conn) empty() bool {
	byClient := c.why == reasonNormal || c.why == reasonClientReset || c.why == reasonOpeningClient ||
		c.why == reasonQueueClientReset || c.why == reasonConnectClientReset
	return byClient && c.pipes[client].bytes == 0 && c.pipes[server].bytes == 0
}

// line begins a line of the access log, with what is known of the connection now.
func (c *conn) line(tcp *[2]TCP) *accesslog.Record {
	out, r := c.association.line(), c.log
	out.TCP = *tcp
	out.Client, out.Peer, out.Bytes, out.Phases = c.clientAddr(), r.peer, c.moved(), r.phases
	out.Err, out.TLSCause = r.err, r.cause
	out.Attempts, out.Retries, out.QueuedPos = int(r.attempts), int(r.retries), int(r.queuePosition)
	if c.worker().accessLog.Wants("local") {
		out.Local = c.listeningAddr()
	}
	if k := c.identity; k != nil {
		out.SNI, out.ALPN, out.Route = k.SNI, k.Negotiated, k.Route
		if k.TLS != nil {
			out.TLS = accesslog.TLS{Version: k.TLS.version, Cipher: k.TLS.cipher, Resumed: k.TLS.resumed}
			out.ClientCN = k.TLS.name
		}
	}
	return out
}

// listeningAddr returns the address that the client's socket has on this machine.
func (c *conn) listeningAddr() netip.AddrPort {
	if a := c.listener.shared.address; !a.Addr().IsUnspecified() {
		return a
	}
	a, _ := c.sockets[client].LocalAddr()
	return unmapped(a)
}

// handOver describes the record, for another process.
func (r *logRecord) handOver(now int64) *handover.Log {
	l := &handover.Log{
		Peer: r.peer, Phases: slices.Clone(r.phases[:]), Attempts: r.attempts, Retries: r.retries,
		Position: r.queuePosition,
	}
	if r.interimDue != int64(forever) {
		l.Interim = time.Duration(max(r.interimDue-now, 1))
	}
	return l
}

// takeOver continues the record of another process.
func (r *logRecord) takeOver(l *handover.Log, now int64) {
	r.begin(now, l.Peer, l.Interim)
	copy(r.phases[:], l.Phases)
	r.attempts, r.retries, r.queuePosition = l.Attempts, l.Retries, l.Position
}
