package simulation

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/cmd/reactord/internal/wire/proxyproto"
	"github.com/reactord/reactord/internal/simring"
)

// Outcome says what has become of a client.
type Outcome string

// The values of [Outcome].
const (
	Answered Outcome = "answered"
	Refused  Outcome = "refused" // its connection was refused, or ended before the first answer
	Broken   Outcome = "broken"  // its connection ended between two answers
	Late     Outcome = "late"    // it has waited longer than its patience
	Changed  Outcome = "changed" // it has got bytes that were not sent
	Unended  Outcome = "unended" // it is still there when the run ends
)

// group lets clients of a kind come while a scenario is played.
type group struct {
	*Clients
	w       *world
	machine *simring.Kernel
	to      netip.AddrPort
	said    netip.AddrPort // in a PROXY header
	hello   []byte
	rate    float64
	next    int // counts the plans for the next arrival: a new rate replaces an old plan
}

// start lets the clients come.
func (g *group) start() {
	g.w.after(g.From, func() {
		if g.next == 0 { // or an event has set another
			g.setRate(g.Rate)
		}
		if g.Burst > 0 && g.Every > 0 {
			g.w.after(g.Every, g.burst)
		}
	})
}

// setRate sets how many come in a second from now on.
func (g *group) setRate(rate float64) {
	g.rate = rate
	g.next++
	g.plan(g.next)
}

// plan plans the next arrival.
func (g *group) plan(number int) {
	if g.rate <= 0 {
		return
	}
	gap := time.Duration(g.w.rng.ExpFloat64() / g.rate * float64(time.Second))
	g.w.after(gap, func() {
		if number != g.next || g.w.elapsed() >= g.w.scenario.Duration {
			return
		}
		g.come()
		g.plan(number)
	})
}

func (g *group) burst() {
	if g.w.elapsed() >= g.w.scenario.Duration {
		return
	}
	for range g.Burst {
		g.come()
	}
	g.w.after(g.Every, g.burst)
}

// draw draws an address of the network, if possible of none that is avoided.
func (g *group) draw() (a netip.Addr) {
	for range 20 {
		a = g.drawAny()
		if !slices.ContainsFunc(g.Avoid, func(p netip.Prefix) bool { return p.Contains(a) }) {
			break
		}
	}
	return a
}

func (g *group) drawAny() netip.Addr {
	b := g.Network.Addr().AsSlice()
	for i := range b {
		if host := min(max(8*(i+1)-g.Network.Bits(), 0), 8); host > 0 {
			b[i] |= byte(g.w.rng.Uint32()) & (1<<host - 1)
		}
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// visitor models a client with its connection.
type visitor struct {
	g        *group
	e        *simring.Endpoint
	id       uint32
	from     netip.AddrPort
	began    time.Duration
	asked    time.Duration // when it has sent its latest request
	exchange int           // requests so far
	answers  int
	reader   frameReader
	out      []byte
	opened   bool
	waits    int  // counts the times that it waits for an answer
	reading  bool // it has read its share, and waits to read more
	closing  bool // it has sent the end of its stream
	over     bool
	server   uint32 // that has answered last
	to       *server
}

// come lets one client come.
func (g *group) come() {
	w := g.w
	w.visitors++
	v := &visitor{g: g, id: uint32(w.visitors), began: w.elapsed()}
	v.from = netip.AddrPortFrom(g.draw(), uint16(1024+w.rng.IntN(64000)))
	seen := v.from
	if g.Via.IsValid() {
		seen = netip.AddrPortFrom(g.Via, v.from.Port())
	}
	w.here++
	w.out.MostOpen = max(w.out.MostOpen, int64(w.here))
	w.present[v] = true
	w.proxyMachine.Logf("client %v of %s comes", v.from, g.Name)
	v.await()
	v.e = g.machine.Connect(w.proxyMachine, seen, g.to, v.handle)
}

// await gives up if no answer comes in time.
func (v *visitor) await() {
	v.waits++
	number := v.waits
	v.g.w.after(v.g.Patience, func() {
		if !v.over && number == v.waits {
			v.g.w.answer(v, v.g.Patience)
			v.leave(Late, true)
		}
	})
}

// handle goes on when something has happened to the connection.
func (v *visitor) handle() {
	if v.over || v.e.Connecting() {
		return
	}
	if !v.opened {
		v.open()
	}
	v.flush()
	if !v.reading {
		v.read()
	}
}

// open says what comes before the first request, which follows when the TLS handshake is over.
func (v *visitor) open() {
	v.opened = true
	g := v.g
	if g.Via.IsValid() {
		h := proxyproto.Header{Version: 2, Source: v.from, Destination: g.said}
		v.out = proxyproto.Append(v.out, &h)
	}
	v.out = append(v.out, g.hello...)
	if len(g.hello) == 0 {
		v.ask()
		return
	}
	g.w.after(g.Crypto+2*g.Latency, func() {
		if !v.over {
			v.ask()
			v.flush()
		}
	})
}

// ask adds a request to what is sent.
func (v *visitor) ask() {
	v.exchange++
	v.asked = v.g.w.elapsed()
	v.await()
	f := frame{client: v.id, exchange: uint32(v.exchange), length: uint32(v.g.Request), answer: uint32(v.g.Response)}
	v.out = v.g.w.post(v.e, v.out, &f)
}

func (v *visitor) flush() {
	for len(v.out) > 0 {
		n, err := v.e.Send(v.out)
		if err != nil {
			if fails(err) {
				v.lose()
			}
			return
		}
		v.out = v.out[n:]
	}
}

// read takes what has come. A client that reads slowly takes a part, and the next a little later.
func (v *visitor) read() {
	w := v.g.w
	buf := w.buffer[:]
	most := len(buf)
	if v.g.ReadRate > 0 { // what it reads in 50 ms
		most = min(max(v.g.ReadRate/20, 1), most)
	}
	for !v.over && !v.reading {
		n, err := v.e.Recv(buf[:most])
		switch {
		case errors.Is(err, io.EOF):
			v.finish()
			return
		case fails(err):
			v.lose()
			return
		case err != nil:
			return
		}
		v.take(buf[:n])
		if v.g.ReadRate > 0 && !v.over {
			v.reading = true
			w.after(time.Duration(float64(n)/float64(v.g.ReadRate)*1e9), func() {
				if v.reading = false; !v.over {
					v.read()
				}
			})
		}
	}
}

// take takes bytes of answers.
func (v *visitor) take(b []byte) {
	if !v.reader.begun() && v.answers == 0 {
		b = skipGreeting(b)
	}
	for len(b) > 0 && !v.over {
		n, whole, err := v.reader.next(b)
		if b = b[n:]; err != nil || whole && v.reader.frame.client != v.id {
			v.leave(Changed, true)
			return
		}
		if whole {
			v.answered()
		}
	}
}

// skipGreeting skips what a server says that speaks first.
func skipGreeting(b []byte) []byte {
	for i := range b {
		if startsFrame(b[i:]) {
			return b[i:]
		}
	}
	return nil
}

// answered goes on behind an answer.
func (v *visitor) answered() {
	g, w := v.g, v.g.w
	v.server = v.reader.frame.server
	if v.answers++; v.answers == 1 {
		if v.server == 0 || int(v.server) > len(w.byID) {
			v.leave(Changed, true)
			return
		}
		v.to = w.byID[v.server-1]
	}
	w.answer(v, w.elapsed()-v.asked)
	v.waits++ // nothing is waited for
	if v.exchange < g.Exchanges {
		w.after(w.about(g.Pause), func() {
			if !v.over {
				v.ask()
				v.flush()
			}
		})
		return
	}
	switch g.End {
	case EndClose:
		v.leave(Answered, false)
	case EndReset:
		v.leave(Answered, true)
	default:
		v.closing = true
		v.e.CloseWrite()
		v.await()
	}
}

// finish ends with the end of the server's stream.
func (v *visitor) finish() {
	switch {
	case v.closing && !v.reader.begun():
		v.leave(Answered, false)
	default:
		v.lose()
	}
}

// lose ends with a connection that has ended too soon.
func (v *visitor) lose() {
	switch {
	case v.closing && v.answers == v.g.Exchanges: // it has all its answers
		v.leave(Answered, true)
	case v.answers > 0:
		v.leave(Broken, true)
	default:
		v.leave(Refused, true)
	}
}

// leave ends the client.
func (v *visitor) leave(o Outcome, reset bool) {
	if v.over {
		return
	}
	v.over = true
	if reset {
		v.e.Reset()
	} else {
		v.e.Close()
	}
	v.g.w.left(v, o)
}

// fails reports whether an error is one of the connection, and not that there is nothing to do now.
func fails(err error) bool {
	return err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, unix.EAGAIN)
}

// hello returns a ClientHello of crypto/tls.
func hello(sni string, alpn []string) ([]byte, error) {
	c, s := net.Pipe()
	defer s.Close()
	go func() {
		defer c.Close()
		_ = tls.Client(c, &tls.Config{ServerName: sni, NextProtos: alpn, InsecureSkipVerify: true}).Handshake()
	}()
	const record = 5
	b := make([]byte, record)
	if _, err := io.ReadFull(s, b); err != nil {
		return nil, err
	}
	b = append(b, make([]byte, int(b[3])<<8|int(b[4]))...)
	_, err := io.ReadFull(s, b[record:])
	return b, err
}
