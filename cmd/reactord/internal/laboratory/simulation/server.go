package simulation

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"net/netip"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/proxyproto"
	"github.com/reactord/reactord/internal/simring"
)

// server models a server. It answers requests of clients, and health checks as the settings of its backends
// expect.
type server struct {
	w        *world
	id       uint32
	backend  string // the first that has it
	name     string
	key      serveraddr.Addr // in the plan of the scenario
	at       netip.AddrPort
	machine  *simring.Kernel
	alone    bool // on its machine, whose packets are dropped while it hangs
	model    Server
	mode     Mode
	checks   []check // of all backends that have it
	acceptor *simring.Acceptor
	locality string
	others   []*otherPort
	conns    []*served
	life     int // how often its process has died
	busy     int // workers
	waiting  []work

	clients int // connections that have sent a request
	total   int // of them so far
	peak    int // of clients
}

// check holds what a health check sends and expects.
type check struct{ send, expect []byte }

// work is a request that waits for a worker.
type work struct {
	of *served
	f  frame
}

// checkOf returns the check of a backend.
func checkOf(c config.Check) check {
	payload := func(text, digits string) []byte {
		if digits == "" {
			return []byte(text)
		}
		b, _ := hex.DecodeString(digits) // it is valid: see config
		return b
	}
	simplify(&c)
	return check{payload(c.Send, c.SendHex), payload(c.Expect, c.ExpectHex)}
}

// otherPort is a port on which a server answers with a text: that of a health check, or of an agent.
type otherPort struct {
	at       netip.AddrPort
	text     []byte
	acceptor *simring.Acceptor
}

// serve makes the server of a plan's server, unless there is one, which then answers the checks of this backend, too.
// A server that is a listener of the proxy is none.
func (w *world) serve(b *plan.Backend, s *plan.Server) {
	key, at := s.Address, placeOf(s.Address)
	if w.isListener(at) {
		return
	}
	own := w.servers[at]
	if own == nil {
		model, ok := w.scenario.Servers[key]
		if !ok {
			model = w.scenario.Default
		}
		own = &server{
			w: w, id: uint32(len(w.servers) + 1), key: key, at: at, model: model, mode: Works,
			backend: b.Name(), name: s.Name,
			machine: w.machineOf(at.Addr()), locality: s.Locality, alone: w.alone[at.Addr()],
		}
		w.servers[at], w.byID = own, append(w.byID, own)
		own.listen()
	}
	own.checks = append(own.checks, checkOf(b.Settings.Check))
}

// serveChecks makes the other ports of a server on which it is checked.
func (w *world) serveChecks(b *plan.Backend, s *plan.Server) {
	own := w.servers[placeOf(s.Address)]
	if own == nil {
		return
	}
	settings := s.WithChecks(b.Settings)
	if port := settings.Check.Port; port != 0 {
		own.answerAt(uint16(port), checkOf(b.Settings.Check).expect)
	}
	if port := settings.Agent.Port; port != 0 {
		own.answerAt(uint16(port), []byte("up\n"))
	}
}

// answerAt answers each connection to another port by a text.
func (s *server) answerAt(port uint16, text []byte) {
	at := netip.AddrPortFrom(s.at.Addr(), port)
	if s.w.servers[at] != nil || s.w.taken[at] || s.w.isListener(at) {
		return
	}
	s.w.taken[at] = true
	o := &otherPort{at: at, text: text}
	s.others = append(s.others, o)
	s.listenAt(o)
}

func (s *server) listenAt(o *otherPort) {
	a, err := s.machine.Accept(o.at, func(e *simring.Endpoint) {
		if s.mode == Resets {
			e.Reset()
			return
		}
		e.Handle(func() {
			b := make([]byte, 512)
			if _, err := e.Recv(b); errors.Is(err, io.EOF) || fails(err) {
				e.Close()
			}
		})
		_, _ = e.Send(o.text)
	})
	if err != nil {
		s.w.fail(err)
		return
	}
	o.acceptor = a
}

// listen accepts connections from now on.
func (s *server) listen() {
	a, err := s.machine.Accept(s.at, s.accept)
	if err != nil {
		s.w.fail(err)
		return
	}
	s.acceptor = a
}

// close ends the server.
func (s *server) close() {
	if s.acceptor != nil {
		s.acceptor.Close()
		s.acceptor = nil
	}
	for _, o := range s.others {
		if o.acceptor != nil {
			o.acceptor.Close()
			o.acceptor = nil
		}
	}
	s.resetAll()
}

// resetAll resets all connections.
func (s *server) resetAll() {
	for len(s.conns) > 0 {
		s.conns[0].reset()
	}
}

// become changes what the server does.
func (s *server) become(m Mode) {
	s.mode = m
	switch m {
	case Refuses:
		s.close()
		s.life, s.busy, s.waiting = s.life+1, 0, nil
		return
	case Resets:
		s.resetAll()
	}
	if s.acceptor == nil {
		s.listen()
	}
	for _, o := range s.others {
		if o.acceptor == nil {
			s.listenAt(o)
		}
		if o.acceptor != nil {
			o.acceptor.Ignore(s.ignores())
		}
	}
	if s.acceptor == nil {
		return
	}
	if s.acceptor.Ignore(s.ignores()); !s.ignores() {
		for _, c := range slices.Clone(s.conns) {
			c.handle() // what has come meanwhile
		}
	}
}

// ignores reports whether the server itself does nothing. One that is alone does not need to.
func (s *server) ignores() bool { return s.mode == Hangs && !s.alone }

func (s *server) accept(e *simring.Endpoint) {
	if s.mode == Resets || s.model.Connections > 0 && len(s.conns) >= s.model.Connections {
		e.Reset()
		return
	}
	c := &served{s: s, e: e, index: len(s.conns)}
	s.conns = append(s.conns, c)
	for _, k := range s.checks {
		if len(k.send) == 0 && len(k.expect) > 0 { // the server speaks first
			_, _ = e.Send(k.expect)
			break
		}
	}
	e.Handle(c.handle)
}

// answer lets a request take its time.
func (s *server) answer(c *served, f frame) {
	if s.model.Workers > 0 && s.busy >= s.model.Workers {
		s.waiting = append(s.waiting, work{c, f})
		return
	}
	s.busy++
	life := s.life
	took := s.w.about(s.model.Latency)
	if s.mode == Crawls {
		took *= 50
	}
	s.w.after(took, func() {
		if s.life != life {
			return
		}
		s.busy--
		c.send(f)
		for len(s.waiting) > 0 && (s.model.Workers == 0 || s.busy < s.model.Workers) {
			next := s.waiting[0]
			s.waiting = s.waiting[1:]
			if next.of.ended {
				continue
			}
			s.answer(next.of, next.f)
		}
	})
}

// served is a connection of a server.
type served struct {
	s        *server
	e        *simring.Endpoint
	preamble []byte // what came before the first frame
	framed   bool   // frames come
	reader   frameReader
	out      []byte // to send
	pending  int    // requests that are not answered
	eof      bool   // the client has ended
	ended    bool
	index    int // in conns
}

// handle takes what has come.
func (c *served) handle() {
	if c.ended || c.s.ignores() {
		return
	}
	buf := c.s.w.buffer[:]
	for !c.ended {
		n, err := c.e.Recv(buf)
		switch {
		case errors.Is(err, io.EOF):
			c.eof = true
			c.flush()
			return
		case fails(err):
			c.end()
			c.e.Close()
			return
		case err != nil: // there is no more now
			c.flush()
			return
		}
		c.take(buf[:n])
	}
}

// take takes bytes of the stream.
func (c *served) take(b []byte) {
	if !c.framed {
		c.preamble = append(c.preamble, b...)
		b = c.skipPreamble()
	}
	for len(b) > 0 && !c.ended {
		n, whole, err := c.reader.next(b)
		if err != nil {
			c.s.w.wrong(c.s, c.reader.frame.client)
			c.reset()
			return
		}
		if b = b[n:]; whole {
			c.pending++
			c.s.answer(c, c.reader.frame)
		}
	}
}

// skipPreamble skips what comes before the first frame: a PROXY header, and a ClientHello. It answers a health check.
// What it returns is behind all that; nothing if that is not known yet.
func (c *served) skipPreamble() []byte {
	b := c.preamble
	if _, n, err := proxyproto.Parse(b); err == nil {
		b = b[n:]
	} else if errors.Is(err, proxyproto.ErrIncomplete) {
		return nil
	}
	const record = 5
	for len(b) > 0 && b[0] == 0x16 {
		if len(b) < record || len(b) < record+int(b[3])<<8+int(b[4]) {
			return nil
		}
		b = b[record+int(b[3])<<8+int(b[4]):]
	}
	if len(b) == 0 {
		return nil
	}
	if startsFrame(b) {
		if len(b) < 4 {
			return nil
		}
		c.framed, c.preamble = true, nil
		if c.s.clients++; c.s.clients > c.s.peak {
			c.s.peak = c.s.clients
		}
		c.s.total++
		return b
	}
	for _, k := range c.s.checks {
		if len(k.send) > 0 && bytes.HasPrefix(b, k.send) {
			c.out = append(c.out, k.expect...)
			c.preamble = nil
			return nil
		}
	}
	return nil
}

// send answers a request.
func (c *served) send(f frame) {
	if c.ended {
		return
	}
	c.pending--
	answer := frame{client: f.client, exchange: f.exchange, server: c.s.id, length: f.answer}
	if c.s.ignores() { // until it works again
		c.out = answer.append(c.out)
		return
	}
	c.out = c.s.w.post(c.e, c.out, &answer)
	c.flush()
}

// flush sends what there is room for. It ends the connection when the client has ended and has all its answers.
func (c *served) flush() {
	for len(c.out) > 0 {
		n, err := c.e.Send(c.out)
		if err != nil {
			if fails(err) {
				c.end()
				c.e.Close()
			}
			return
		}
		c.out = c.out[n:]
	}
	if c.eof && c.pending == 0 && !c.ended {
		c.end()
		c.e.Close()
	}
}

func (c *served) reset() {
	c.end()
	c.e.Reset()
}

// end counts the connection as ended.
func (c *served) end() {
	if c.ended {
		return
	}
	c.ended = true
	last := len(c.s.conns) - 1
	c.s.conns[c.index] = c.s.conns[last]
	c.s.conns[c.index].index = c.index
	c.s.conns = c.s.conns[:last]
	if c.framed {
		c.s.clients--
	}
}
