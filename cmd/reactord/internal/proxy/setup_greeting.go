package proxy

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"math"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/proxyproto"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/starttls"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// A server that is connected is greeted before bytes flow: by a PROXY header, by STARTTLS, by a TLS handshake, and by
// the early bytes of the client, each only if there is one. A header and early bytes are sent by one operation, whose
// receiver is the greeting; what has to wait for an answer is a part of the dial's task. The early bytes are kept until
// all of it is done, so that another server can have them if this one fails.

// greeting holds what a server is sent before bytes flow, and what it answers.
type greeting struct {
	dial     *dial
	send     reactor.SendOp
	recv     reactor.RecvLeaseOp
	deadline int64  // when STARTTLS takes too long
	bytes    []byte // the header, and the early bytes
	tlvs     proxyproto.TLVs
	path     []byte // of the listener's unix socket, for the header
}

// connected greets the server that the first attempt has connected.
func (d *dial) connected() {
	c := d.conn
	d.connectedAt = c.loop().Now()
	d.plain = c.server.Plain()
	if d.awaitsReply() {
		d.proceed()
		return
	}
	b := d.firstBytes()
	if len(b) == 0 {
		d.finish()
		return
	}
	g := d.greeting
	c.sockets[server].SendAll(b).Connect(&g.send, g)
	g.send.Start()
}

// SetValue ends the dial: all was sent. Fewer bytes were sent if the connection or the loop is stopping.
func (g *greeting) SetValue(n int) {
	switch d := g.dial; {
	case d.task != nil || d.conn.phase != phaseConnecting: // it is too late: the socket is being closed
	case n < len(g.bytes):
		g.SetStopped()
	default:
		d.finish()
	}
}

// SetError continues in a task: the server takes no bytes.
func (g *greeting) SetError(err error) {
	if d := g.dial; d.task == nil && d.conn.phase == phaseConnecting {
		d.failed(err)
		d.proceed()
	}
}

// SetStopped ends the connection: the loop is stopping, or the socket is being closed.
func (g *greeting) SetStopped() {
	if d := g.dial; d.task == nil {
		d.conn.close(reasonKilled, bothSides)
	}
}

// Env returns an empty environment.
func (g *greeting) Env() sender.Env { return sender.EmptyEnv{} }

// noTLS is the TLS configuration for plaintext servers.
var noTLS = config.ClientTLS{StartTLS: config.NoStartTLS}

// tlsConfig returns how TLS begins with the server: as the backend says, unless the server is plaintext.
func (d *dial) tlsConfig() *config.ClientTLS {
	if d.plain {
		return &noTLS
	}
	return &d.conn.config.TLS
}

// awaitsReply reports whether the server has to answer before bytes flow.
func (d *dial) awaitsReply() bool {
	s, c := d.tlsConfig(), d.conn
	return s.Enabled || s.StartTLS != config.NoStartTLS ||
		c.clientStartTLS() != "" && starttls.NewGreeted(c.clientStartTLS()) != nil
}

// clientStartTLS returns the protocol in which the listener has greeted the client: the greeting of the server is not
// for it then. See [starttls].
func (c *conn) clientStartTLS() string {
	if c.identity == nil {
		return ""
	}
	return c.identity.startTLS
}

// firstBytes returns what is sent as soon as the server is connected: the PROXY header, and the early bytes unless a
// later step sends them.
func (d *dial) firstBytes() []byte {
	c := d.conn
	var early []byte
	if c.tls == nil && !d.awaitsReply() {
		early = c.earlyBytes()
	}
	version := 0
	switch c.config.ProxyProtocol.Version {
	case config.ProxyV1:
		version = 1
	case config.ProxyV2:
		version = 2
	}
	if version == 0 && len(early) == 0 {
		return nil
	}
	g := d.ensureGreeting()
	g.bytes = g.bytes[:0]
	if version != 0 {
		h := proxyproto.Header{Version: version, Source: c.clientAddr(), Destination: c.destination()}
		if version == 2 {
			g.tlvs = c.appendTLVs(g.tlvs[:0])
			h.TLVs = g.tlvs
			if path := c.listener.shared.path; path != "" && !h.Source.IsValid() {
				g.path = appendUnixName(g.path[:0], path)
				h.Unix, h.UnixDestination = true, g.path
			}
		}
		g.bytes = proxyproto.Append(g.bytes, &h)
	}
	g.bytes = append(g.bytes, early...)
	return g.bytes
}

// appendUnixName appends the name of a unix socket as the kernel has it.
func appendUnixName(dst []byte, path string) []byte {
	dst = append(dst, path...)
	if path[0] == '@' {
		dst[len(dst)-len(path)] = 0
	}
	return dst
}

// ensureGreeting returns the greeting and takes it from the pool on first use.
func (d *dial) ensureGreeting() *greeting {
	if d.greeting == nil {
		d.greeting = d.conn.worker().greetings.Get()
		d.greeting.dial = d
	}
	return d.greeting
}

// forgetGreeting gives back a greeting.
func (w *worker) forgetGreeting(g *greeting) {
	*g = greeting{bytes: reusable(g.bytes), tlvs: reusable(g.tlvs)}
	w.greetings.Keep(g)
}

// appendTLVs appends the TLVs of the header for servers. Those that were received count more than what is known here:
// they tell of the client itself, which may be further away.
func (c *conn) appendTLVs(dst proxyproto.TLVs) proxyproto.TLVs {
	wanted := c.config.ProxyProtocol.TLVs
	for _, name := range wanted {
		if name == config.TLVReceived && c.identity != nil {
			dst = appendReceived(dst, c.identity.TLVs)
		}
	}
	for _, name := range wanted {
		dst = c.appendTLV(dst, name)
	}
	return dst
}

// appendReceived appends the TLVs of another proxy, without the checksum, which was that of its header.
func appendReceived(dst, all proxyproto.TLVs) proxyproto.TLVs {
	for kind, value := range all.All() {
		if kind != proxyproto.CRC32C && kind != proxyproto.Noop {
			dst = proxyproto.AppendTLV(dst, kind, value)
		}
	}
	return dst
}

// appendTLV appends the TLV of a name, if it is known and was not received.
func (c *conn) appendTLV(dst proxyproto.TLVs, name config.ProxyTLV) proxyproto.TLVs {
	known := c.identity
	if known == nil {
		known = &noIdentity
	}
	kind, text := proxyproto.Type(0), ""
	switch name {
	case config.TLVALPN:
		kind, text = proxyproto.ALPN, known.Negotiated
	case config.TLVAuthority:
		kind, text = proxyproto.Authority, known.SNI
	case config.TLVUniqueID:
		kind, text = proxyproto.UniqueID, c.uniqueID()
	case config.TLVCRC32C:
		return proxyproto.AppendTLV(dst, proxyproto.CRC32C, nil)
	case config.TLVSSL:
		if _, have := dst.Get(proxyproto.TLS); known.TLS != nil && !have {
			dst = proxyproto.AppendSSL(dst, proxySSL(known.TLS))
		}
		return dst
	}
	if _, have := dst.Get(kind); have || text == "" {
		return dst
	}
	return proxyproto.AppendTLVString(dst, kind, text)
}

// noIdentity is the identity of a client of whom nothing is known.
var noIdentity identity

// uniqueID identifies the connection among those of all processes.
func (c *conn) uniqueID() string { return fmt.Sprintf("%016x%016x", c.worker().proxy.unique, c.id) }

// proxySSL returns what a PROXY header tells of the client's TLS.
func proxySSL(a *handshakeResult) *proxyproto.SSL {
	out := &proxyproto.SSL{TLS: true, Cipher: tls.CipherSuiteName(a.cipher)}
	switch a.version {
	case tls.VersionTLS10:
		out.Version = "TLSv1"
	case tls.VersionTLS11:
		out.Version = "TLSv1.1"
	case tls.VersionTLS12:
		out.Version = "TLSv1.2"
	default:
		out.Version = "TLSv1.3"
	}
	if a.certificate {
		out.CertSession, out.CertConn, out.Verified, out.CN = true, !a.resumed, true, a.name
	}
	return out
}

// greet greets the server, in the task.
func (d *dial) greet(t *task.T) error {
	c, loop := d.conn, d.conn.loop()
	d.plain = c.server.Plain()
	c.forgetServerTLS()
	if b := d.firstBytes(); len(b) != 0 {
		_, err := task.Await(t, sender.Timeout(withState(c.sockets[server].SendAll(b), &d.greeting.send),
			loop.SleepUntil(d.deadlineFor(loop.Now(), c.config.ConnectTimeout))))
		if err != nil {
			return err
		}
	}
	if !d.awaitsReply() {
		return nil
	}
	d.handshaking = true
	d.ensureGreeting().deadline = d.deadlineFor(loop.Now(), c.config.TLS.HandshakeTimeout)
	return d.negotiate(t)
}

// negotiate speaks with the server until bytes can flow.
func (d *dial) negotiate(t *task.T) error {
	c, with := d.conn, d.tlsConfig()
	asks := starttls.NewClient(string(with.StartTLS))
	if asks != nil {
		if err := d.converse(t, asks); err != nil {
			return err
		}
	}
	if with.Enabled {
		if err := c.originate(t); err != nil {
			return err
		}
	}
	if greeted := starttls.NewGreeted(c.clientStartTLS()); asks == nil && greeted != nil {
		if err := d.converse(t, greeted); err != nil {
			return err
		}
	}
	if c.tls != nil {
		return nil
	}
	return d.send(t, server, c.earlyBytes())
}

// converse asks the server for TLS, or takes the greeting from it that the client has got from the listener. What the
// server says for the client is passed on.
func (d *dial) converse(t *task.T, speak *starttls.Dialogue) error {
	c := d.conn
	var heard []byte
	for {
		used, out, done, err := speak.Step(heard)
		heard = heard[used:]
		if e := d.send(t, server, out); e != nil || err != nil {
			return cmp.Or(err, e)
		}
		if done {
			break
		}
		if heard, err = d.receive(t, heard); err != nil {
			return err
		}
	}
	if c.clientStartTLS() == "" {
		heard = append(speak.Greeting(), heard...)
	}
	if c.speaksTLS(client) {
		d.serverBytes = heard
		return nil
	}
	c.countPassed(server, len(heard))
	return d.send(t, client, heard)
}

// send sends b to a side, without TLS.
func (d *dial) send(t *task.T, side int, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	_, err := task.Await(t, sender.Timeout(
		withState(d.conn.sockets[side].SendAll(b), &d.greeting.send), d.conn.loop().SleepUntil(d.greeting.deadline)))
	return err
}

// receive appends more of what the server says.
func (d *dial) receive(t *task.T, heard []byte) ([]byte, error) {
	c := d.conn
	if c.speaksTLS(server) {
		return c.tls.sides[server].readMore(t, heard, d.greeting.deadline)
	}
	lease, err := task.Await(t, sender.Timeout(
		withState(c.sockets[server].RecvLease(), &d.greeting.recv), c.loop().SleepUntil(d.greeting.deadline)))
	if err != nil {
		return nil, err
	}
	if lease.Len() == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	heard = append(heard, lease.Bytes()...)
	c.pipes[server].skipped += uint32(lease.Len())
	lease.Release()
	return heard, nil
}

// readMore appends more of what a side says in TLS, before bytes flow.
func (s *tlsSide) readMore(t *task.T, heard []byte, limit int64) ([]byte, error) {
	s.handshake = &handshake{side: s, t: t, deadline: limit, left: math.MaxInt}
	defer func() { s.handshake = nil }()
	b := make([]byte, 4<<10)
	n, err := s.tls.Read(b)
	return append(heard, b[:n]...), err
}

// speaksTLS reports whether there is TLS with a side.
func (c *conn) speaksTLS(side int) bool { return c.tls != nil && c.tls.sides[side].tls != nil }

// sendFirst sends bytes to a side before all others, by TLS if that side speaks it. Bytes have just begun to flow.
func (c *conn) sendFirst(to int, b []byte) {
	if len(b) == 0 || c.phase != phaseFlowing {
		return
	}
	from := 1 - to
	r := c.tls.relay(from)
	if c.speaksTLS(to) {
		c.tls.sides[to].encrypt(b)
	} else {
		r.append(b)
	}
	c.count(from, len(b))
	c.tls.advance(from)
}

// countPassed counts bytes of a side that were received and passed on before others began to flow.
func (c *conn) countPassed(side, n int) {
	if c.tls == nil { // else what flows is counted apart from what is received
		c.pipes[side].skipped -= uint32(n)
	}
	c.count(side, n)
}
