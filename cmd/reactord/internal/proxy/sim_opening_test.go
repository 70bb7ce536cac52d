package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/proxyproto"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// Openings and greetings on a simulated kernel: preludes are cut anywhere, and clients and servers break off, stall or
// say something else at any byte. What follows a prelude arrives, and nothing of the proxy is left.
func TestSimulationOfOpenings(t *testing.T) {
	t.Parallel()
	first := hello(t, "a.test")
	var saw [closeReasonCount]uint64
	seeds := manySeeds()
	for seed := *simFrom; seed < *simFrom+seeds; seed++ {
		var s *openings
		err := simring.Play(func(k *simring.Kernel) func() {
			s = simulateOpenings(k, first)
			return s.check
		}, seed, simring.Flaw(*simFlaw), traceOutput())
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for i, c := range s.proxy.Stats().Listeners[0].Ended {
			saw[i] += c.Count
		}
	}
	for _, why := range []closeReason{
		reasonNormal, reasonOpeningClient, reasonOpeningTimeout, reasonBadHeader, reasonBadPreamble, reasonBadHello,
		reasonNoRoute, reasonServerTLS, reasonServerTLSTimeout, reasonNoServer, reasonKilled, reasonAdmin,
	} {
		if t.Logf("%v: %d", why, saw[why]); saw[why] == 0 && seeds >= 300 {
			t.Errorf("no connection has ended as %v", why)
		}
	}
}

// openings is a simulation whose connections begin with a prelude.
type openings struct {
	*simulation
	hello    []byte
	header   int  // version of the PROXY header from clients; 0: there is none
	optional bool // some have none
	asks     bool // clients ask for TLS
	sni      bool // there are routes by SNI
	raw      bool // and one for clients that speak no TLS, which some do
	brokeOff bool // a party has broken off in its prelude
	tells    int  // version of the PROXY header for servers
	asked    bool // servers are asked for TLS
	patience time.Duration
}

func simulateOpenings(k *simring.Kernel, hello []byte) *openings {
	rng := k.Rand()
	s := &openings{
		simulation: &simulation{k: k, talk: program.NewTalk(k), clients: 1 + rng.IntN(6), hurry: rng.IntN(4) == 0},
		hello:      hello, header: rng.IntN(3), asks: rng.IntN(2) == 0, sni: rng.IntN(2) == 0,
		tells: rng.IntN(3), asked: rng.IntN(2) == 0, patience: time.Duration(1 + rng.Int64N(int64(time.Second))),
	}
	s.sni = s.sni || s.asks
	s.optional, s.raw = rng.IntN(3) == 0, s.sni && rng.IntN(3) == 0
	loops := make([]*reactor.Loop, 1+rng.IntN(2))
	for i := range loops {
		loops[i] = program.NewLoop(k)
	}
	b := Backend{Name: "b", Buffer: 1 << rng.IntN(14), HalfCloseTimeout: time.Hour, IdleTimeout: 2 * time.Hour,
		Set: s.backend}
	for i := range 1 + rng.IntN(3) {
		server := drawServer(k, i)
		b.Servers = append(b.Servers, server)
		if rng.IntN(4) != 0 {
			k.Go(fmt.Sprintf("server%d", i), func(t *simring.Thread) { s.serve(t, server) })
		}
	}
	cfg := roomy()
	cfg.Listeners[0].Set = s.listener
	k.Go("start", func(*simring.Thread) { s.start(cfg, b, loops) })
	for i := range s.clients {
		k.Go(fmt.Sprintf("client%d", i), s.client)
	}
	after := time.Duration(rng.Int64N(int64(50 * time.Millisecond)))
	k.Go("stopper", func(t *simring.Thread) { s.stop(t, after) })
	return s
}

func (s *openings) listener(l *plan.Listener) {
	l.InspectTimeout = s.patience
	if s.header != 0 {
		l.ProxyProtocol = config.AcceptProxy{Trusted: prefixes("127.0.0.0/8"), Optional: s.optional}
	}
	if s.asks {
		l.StartTLS = "postgresql"
	}
	if s.sni {
		name := "*.test"
		if s.k.Rand().IntN(8) == 0 {
			name = "b.test"
		}
		l.Backend, l.Routes = "", []config.Route{{SNI: []string{name}, Backend: "b"}}
		if s.raw {
			l.Routes = append(l.Routes, config.Route{Transport: "raw", Backends: []config.WeightedBackend{
				{Backend: "b", Weight: 2}, {Backend: "b", Weight: 1},
			}})
		}
	}
}

// rawOpener is what clients begin with that speak no TLS, and nearlyHeader those without a header.
const (
	rawOpener    = "raw\n"
	nearlyHeader = "PROXE\n"
)

func (s *openings) backend(b *config.Backend) {
	b.TLS.HandshakeTimeout = s.patience
	if s.tells != 0 {
		b.ProxyProtocol = config.SendProxy{
			Version: config.ProxyVersion(fmt.Sprint("v", s.tells)),
			TLVs:    []config.ProxyTLV{config.TLVUniqueID, config.TLVReceived},
		}
	}
	if s.asked {
		b.TLS.StartTLS = "postgresql"
	}
}

// sslRequest asks for TLS in PostgreSQL's protocol.
const sslRequest = "\x00\x00\x00\x08\x04\xd2\x16\x2f"

// told is where simulated clients come from.
var told = netip.MustParseAddrPort("192.0.2.7:4711")

// client connects, and begins as the listener wants, or not quite.
func (s *openings) client(t *simring.Thread) {
	defer func() { s.clients-- }()
	t.Until(s.isUp)
	fd, err := t.Dial(s.proxy.Addrs()[0])
	if err != nil {
		return
	}
	line := &talker{s: s, t: t, fd: fd, fails: -1}
	if rng := s.k.Rand(); rng.IntN(3) == 0 {
		line.fails = rng.IntN([]int{len(s.hello) + 100, 64, 16}[rng.IntN(3)]) // the first bytes decide most
	}
	without := s.optional && s.k.Rand().IntN(2) == 0
	if s.header != 0 && !without {
		h := proxyproto.Header{Version: s.header, Source: told, Destination: netip.MustParseAddrPort("192.0.2.9:443")}
		line.say(proxyproto.Append(nil, &h))
	}
	if s.asks {
		line.say([]byte(sslRequest))
		line.expect("S")
	}
	switch {
	case s.raw && s.k.Rand().IntN(2) == 0:
		line.say([]byte(rawOpener))
	case s.sni:
		line.say(s.hello)
	case s.optional:
		line.say([]byte(nearlyHeader))
	}
	if line.over {
		line.end()
		return
	}
	s.talk.Join().Run(t, fd)
}

func (s *openings) serve(t *simring.Thread, server Server) {
	s.talk.Local = s.talk.Local || server.Path != ""
	ln := server.listen(t)
	for i := 0; ; i++ {
		fd := t.Accept(ln, func() bool { return s.isUp() && s.running == 0 })
		if fd < 0 {
			break
		}
		s.k.Go(fmt.Sprintf("served%d", i), func(t *simring.Thread) { s.served(t, fd, server.Path != "") })
	}
	_ = s.k.System().Close(ln)
}

// served takes the prelude of the proxy, and is a party then. It may break off before.
func (s *openings) served(t *simring.Thread, fd int, local bool) {
	line := &talker{s: s, t: t, fd: fd, fails: -1}
	if rng := s.k.Rand(); s.asked && rng.IntN(3) == 0 {
		line.fails = 0
	}
	if s.tells != 0 {
		line.expectHeader()
	}
	if s.asked {
		line.expect(sslRequest)
		line.say([]byte("S"))
	}
	switch {
	case s.raw:
		line.expectOneOf(rawOpener, string(s.hello))
	case s.sni:
		line.expect(string(s.hello))
	case s.optional:
		line.expect(nearlyHeader)
	}
	if line.over {
		line.end()
		return
	}
	p := s.talk.Join()
	p.Local = local
	p.Run(t, fd)
}

// talker is one side of a prelude.
type talker struct {
	s     *openings
	t     *simring.Thread
	fd    int
	said  int
	fails int // it breaks off when it has said so many bytes; < 0: it does not
	over  bool
}

// say sends b in pieces.
func (l *talker) say(b []byte) {
	rng := l.s.k.Rand()
	for len(b) != 0 && !l.over {
		if rng.IntN(8) == 0 {
			l.t.Sleep(time.Duration(1 + rng.Int64N(int64(time.Millisecond))))
		}
		piece := b[:1+rng.IntN(len(b))]
		if l.fails >= 0 && l.said+len(piece) > l.fails {
			if piece = b[:max(l.fails-l.said, 0)]; len(piece) == 0 {
				l.breakOff()
				return
			}
		}
		l.t.Await(l.fd, true)
		n, err := l.t.Send(l.fd, piece)
		if errors.Is(err, unix.EAGAIN) {
			continue
		}
		l.over = l.over || err != nil
		l.said += max(n, 0)
		b = b[max(n, 0):]
	}
}

// breakOff says something else, or nothing any more.
func (l *talker) breakOff() {
	l.over, l.s.brokeOff = true, true
	switch l.s.k.Rand().IntN(4) {
	case 0:
		l.t.Reset(l.fd)
		l.fd = -1
	case 1: // EOF, by end
	case 2:
		l.t.Await(l.fd, true)
		_, _ = l.t.Send(l.fd, []byte{0xff, 0xfe, 0xfd, '\n'})
		l.t.Sleep(time.Millisecond)
	default:
		l.t.Sleep(2 * l.s.patience)
	}
}

// end closes the connection.
func (l *talker) end() {
	if l.fd >= 0 {
		_ = l.s.k.System().Close(l.fd)
	}
}

// hear receives n bytes at most.
func (l *talker) hear(n int) []byte {
	b := make([]byte, n)
	for !l.over {
		l.t.Await(l.fd, false)
		n, err := l.t.Recv(l.fd, b)
		switch {
		case errors.Is(err, unix.EAGAIN):
		case err != nil || n <= 0:
			l.over = true
		default:
			return b[:n]
		}
	}
	return nil
}

// expect receives exactly want.
func (l *talker) expect(want string) {
	for want != "" && !l.over {
		got := string(l.hear(len(want)))
		if got != want[:len(got)] {
			l.surprised(got, want)
		}
		want = want[len(got):]
	}
}

// expectOneOf receives one of two texts, which differ in their first byte.
func (l *talker) expectOneOf(a, b string) {
	switch first := string(l.hear(1)); {
	case first == "":
	case first == a[:1]:
		l.expect(a[1:])
	case first == b[:1]:
		l.expect(b[1:])
	default:
		l.surprised(first, a[:1]+" or "+b[:1])
	}
}

// surprised ends a prelude in which something else came. A client that breaks off may be taken for one without TLS,
// or without a header.
func (l *talker) surprised(got, want string) {
	l.over = true
	if !l.s.brokeOff || !l.s.raw && !l.s.optional {
		l.s.k.Errorf("got %q in a prelude, want %q", got, want)
	}
}

// expectHeader receives a PROXY header.
func (l *talker) expectHeader() {
	var b []byte
	for !l.over {
		b = slices.Concat(b, l.hear(1))
		h, _, err := proxyproto.Parse(b)
		switch {
		case errors.Is(err, proxyproto.ErrIncomplete):
		case err != nil:
			l.s.k.Errorf("the server is told %q: %v", b, err)
			l.over = true
		case h.Version != l.s.tells || l.s.header != 0 && !l.s.optional && h.Source != told:
			l.s.k.Errorf("the server is told %+v", h)
			return
		default:
			return
		}
	}
}
