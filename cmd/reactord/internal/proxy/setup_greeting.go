package proxy

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"io"
	"math"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxyproto"
	"github.com/reactord/reactord/cmd/reactord/internal/starttls"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// A server that is connected is greeted before bytes flow: by a PROXY header, by STARTTLS, by a TLS handshake, and by
// the early bytes of the client, each only if there is one. A header and early bytes are sent by one operation, whose
// receiver is the greeting; what has to wait for an answer is a part of the dial's task. The early bytes are kept until
// all of it is done, so that another server can have them if this one fails.

// greeting is what is sent to a server that has just been connected, and received from it.
type greeting struct {
	dial  *dial
	send  reactor.SendOp
	recv  reactor.RecvLeaseOp
	limit int64  // when STARTTLS takes too long
	bytes []byte // the header, and the early bytes
	tlvs  proxyproto.TLVs
}

// connected is called when the first attempt has connected the server.
func (d *dial) connected() {
	c := d.conn
	d.reached = c.loop().Now()
	d.plain = c.to.Plain()
	if d.shakes() {
		d.proceed()
		return
	}
	b := d.first()
	if len(b) == 0 {
		d.done()
		return
	}
	g := d.greeting
	c.sockets[server].SendAll(b).Connect(&g.send, g)
	g.send.Start()
}

// SetValue is called when all was sent. Fewer bytes were sent if the connection or the loop is stopping.
func (g *greeting) SetValue(n int) {
	switch d := g.dial; {
	case d.task != nil || d.conn.phase != phaseConnecting: // it is too late: the socket is being closed
	case n < len(g.bytes):
		g.SetStopped()
	default:
		d.done()
	}
}

// SetError is called when the server takes no bytes.
func (g *greeting) SetError(err error) {
	if d := g.dial; d.task == nil && d.conn.phase == phaseConnecting {
		d.failed(err)
		d.proceed()
	}
}

// SetStopped is called when the loop is stopping, or the socket is being closed.
func (g *greeting) SetStopped() {
	if d := g.dial; d.task == nil {
		d.conn.close(endKilled, bothSides)
	}
}

// Env is empty.
func (g *greeting) Env() sender.Env { return sender.EmptyEnv{} }

// noTLS is that with a server that speaks none.
var noTLS = config.ClientTLS{StartTLS: "none"}

// tls is how TLS begins with the server: as the backend says, unless the server has none.
func (d *dial) tls() *config.ClientTLS {
	if d.plain {
		return &noTLS
	}
	return &d.conn.settings.TLS
}

// shakes reports whether the server has to answer before bytes flow.
func (d *dial) shakes() bool {
	s, c := d.tls(), d.conn
	return s.Enabled || s.StartTLS != "none" || c.greetedIn() != "" && starttls.NewGreeted(c.greetedIn()) != nil
}

// greetedIn is the protocol in which the client was greeted: the greeting of the server is not for it. See [starttls].
func (c *conn) greetedIn() string {
	if c.known == nil {
		return ""
	}
	return c.known.asked
}

// first is what is sent as soon as the server is connected: the PROXY header, and the early bytes unless others send
// them.
func (d *dial) first() []byte {
	c := d.conn
	var early []byte
	if c.secure == nil && !d.shakes() {
		early = c.early()
	}
	version := 0
	switch c.settings.ProxyProtocol.Version {
	case "v1":
		version = 1
	case "v2":
		version = 2
	}
	if version == 0 && len(early) == 0 {
		return nil
	}
	g := d.begun()
	g.bytes = g.bytes[:0]
	if version != 0 {
		h := proxyproto.Header{Version: version, Source: c.clientAddr(), Destination: c.destination()}
		if version == 2 {
			g.tlvs = c.appendTLVs(g.tlvs[:0])
			h.TLVs = g.tlvs
		}
		g.bytes = proxyproto.Append(g.bytes, &h)
	}
	g.bytes = append(g.bytes, early...)
	return g.bytes
}

// begun is the greeting, which there is from now on.
func (d *dial) begun() *greeting {
	if d.greeting == nil {
		d.greeting = d.conn.worker().greetings.Get()
		d.greeting.dial = d
	}
	return d.greeting
}

// forgetGreeting gives back a greeting.
func (w *worker) forgetGreeting(g *greeting) {
	*g = greeting{bytes: kept(g.bytes), tlvs: kept(g.tlvs)}
	w.greetings.Keep(g)
}

// appendTLVs appends the TLVs of the header for servers. Those that were received count more than what is known here:
// they tell of the client itself, which may be further away.
func (c *conn) appendTLVs(dst proxyproto.TLVs) proxyproto.TLVs {
	wanted := c.settings.ProxyProtocol.TLVs
	for _, name := range wanted {
		if name == "received" && c.known != nil {
			dst = received(dst, c.known.TLVs)
		}
	}
	for _, name := range wanted {
		dst = c.appendTLV(dst, name)
	}
	return dst
}

// received appends what another proxy has told. The checksum was that of its header.
func received(dst, all proxyproto.TLVs) proxyproto.TLVs {
	for kind, value := range all.All() {
		if kind != proxyproto.CRC32C && kind != proxyproto.Noop {
			dst = proxyproto.AppendTLV(dst, kind, value)
		}
	}
	return dst
}

// appendTLV appends the TLV of a name, if it is known and was not received.
func (c *conn) appendTLV(dst proxyproto.TLVs, name string) proxyproto.TLVs {
	known := c.known
	if known == nil {
		known = &unknown
	}
	kind, text := proxyproto.Type(0), ""
	switch name {
	case "alpn":
		kind, text = proxyproto.ALPN, known.Negotiated
	case "authority":
		kind, text = proxyproto.Authority, known.SNI
	case "unique_id":
		kind, text = proxyproto.UniqueID, c.uniqueID()
	case "crc32c":
		return proxyproto.AppendTLV(dst, proxyproto.CRC32C, nil)
	case "ssl":
		if _, have := dst.Get(proxyproto.TLS); known.TLS != nil && !have {
			dst = proxyproto.AppendSSL(dst, aboutTLS(known.TLS))
		}
		return dst
	}
	if _, have := dst.Get(kind); have || text == "" {
		return dst
	}
	return proxyproto.AppendTLVString(dst, kind, text)
}

// unknown is the identity of a client of whom nothing is known.
var unknown identity

// uniqueID identifies the connection among those of all processes.
func (c *conn) uniqueID() string { return fmt.Sprintf("%016x%016x", c.worker().proxy.unique, c.id) }

// aboutTLS is what a header tells of the client's TLS.
func aboutTLS(a *agreement) *proxyproto.SSL {
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
	d.plain = c.to.Plain()
	c.forgetServerTLS()
	if b := d.first(); len(b) != 0 {
		_, err := task.Await(t, sender.Timeout(in(c.sockets[server].SendAll(b), &d.greeting.send),
			loop.SleepUntil(d.until(loop.Now(), c.settings.ConnectTimeout))))
		if err != nil {
			return err
		}
	}
	if !d.shakes() {
		return nil
	}
	d.shaking = true
	d.begun().limit = d.until(loop.Now(), c.settings.TLS.HandshakeTimeout)
	return d.shake(t)
}

// shake speaks with the server until bytes can flow.
func (d *dial) shake(t *task.T) error {
	c, with := d.conn, d.tls()
	asks := starttls.NewClient(with.StartTLS)
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
	if greeted := starttls.NewGreeted(c.greetedIn()); asks == nil && greeted != nil {
		if err := d.converse(t, greeted); err != nil {
			return err
		}
	}
	if c.secure != nil {
		return nil
	}
	return d.say(t, server, c.early())
}

// converse asks the server for TLS, or takes the greeting from it that the client has got from the listener. What the
// server has said for the client is passed on.
func (d *dial) converse(t *task.T, speak *starttls.Dialogue) error {
	c := d.conn
	var heard []byte
	for {
		used, out, done, err := speak.Step(heard)
		heard = heard[used:]
		if e := d.say(t, server, out); e != nil || err != nil {
			return cmp.Or(err, e)
		}
		if done {
			break
		}
		if heard, err = d.hear(t, heard); err != nil {
			return err
		}
	}
	if c.greetedIn() == "" {
		heard = append(speak.Greeting(), heard...)
	}
	if c.speaksTLS(client) {
		d.rest = heard
		return nil
	}
	c.passed(server, len(heard))
	return d.say(t, client, heard)
}

// say sends b to a side, without TLS.
func (d *dial) say(t *task.T, side int, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	_, err := task.Await(t, sender.Timeout(
		in(d.conn.sockets[side].SendAll(b), &d.greeting.send), d.conn.loop().SleepUntil(d.greeting.limit)))
	return err
}

// hear appends more of what the server says.
func (d *dial) hear(t *task.T, heard []byte) ([]byte, error) {
	c := d.conn
	if c.speaksTLS(server) {
		return c.secure.sides[server].hear(t, heard, d.greeting.limit)
	}
	lease, err := task.Await(t, sender.Timeout(
		in(c.sockets[server].RecvLease(), &d.greeting.recv), c.loop().SleepUntil(d.greeting.limit)))
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

// hear appends more of what a side says in TLS, before bytes flow.
func (s *tlsSide) hear(t *task.T, heard []byte, limit int64) ([]byte, error) {
	s.shake = &handshake{side: s, t: t, deadline: limit, left: math.MaxInt}
	defer func() { s.shake = nil }()
	b := make([]byte, 4<<10)
	n, err := s.tls.Read(b)
	return append(heard, b[:n]...), err
}

// speaksTLS reports whether there is TLS with a side.
func (c *conn) speaksTLS(side int) bool { return c.secure != nil && c.secure.sides[side].tls != nil }

// encrypt sends bytes to a side before all others, by TLS if that side speaks it. Bytes have just begun to flow.
func (c *conn) encrypt(to int, b []byte) {
	if len(b) == 0 || c.phase != phaseFlowing {
		return
	}
	from := 1 - to
	r := c.secure.relay(from)
	if c.speaksTLS(to) {
		c.secure.sides[to].encrypt(b)
	} else {
		r.append(b)
	}
	c.count(from, len(b))
	c.secure.advance(from)
}

// passed counts bytes of a side that were received and passed on before others began to flow.
func (c *conn) passed(side, n int) {
	if c.secure == nil { // else what flows is counted apart from what is received
		c.pipes[side].skipped -= uint32(n)
	}
	c.count(side, n)
}
