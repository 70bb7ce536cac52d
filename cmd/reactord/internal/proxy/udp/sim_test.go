package udp_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy/udp"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/reactortest"
	"github.com/reactord/reactord/sender"
)

const (
	port       = 53
	serverPort = 5353
)

// owner admits a few sessions, all to one server.
type owner struct {
	m        *reactortest.Machine
	loop     *reactor.Loop
	listener *udp.Listener
	settings *udp.Settings
	server   netip.AddrPort
	most     int
	open     int
	begun    int
	ended    [udp.WhyOwner + 1]int
	tally    udp.Tally
	closed   bool
}

func (o *owner) Admit(client, _ netip.AddrPort) *udp.Session {
	if o.open == o.most {
		return nil
	}
	o.open++
	o.begun++
	a := &account{owner: o}
	a.Init(a, o.settings, o.server, nil, 0)
	return &a.Session
}

func (o *owner) Count(t udp.Tally) {
	for side := range t.Datagrams {
		o.tally.Datagrams[side] += t.Datagrams[side]
		o.tally.Bytes[side] += t.Bytes[side]
	}
	for i, n := range t.Dropped {
		o.tally.Dropped[i] += n
	}
}

func (o *owner) Recovered() {}

func (o *owner) Failed(err error) { o.m.Errorf("the listener has failed: %v", err) }

func (o *owner) Closed() {
	o.closed = true
	o.loop.Stop()
}

type account struct {
	udp.Session
	owner *owner
	over  bool
}

func (a *account) Bind(*reactor.Socket) error { return nil }
func (a *account) Answered()                  {}
func (a *account) Refused(error)              {}
func (a *account) Ended(why udp.Why) {
	if a.over {
		a.owner.m.Errorf("a session ends twice")
	}
	a.over = true
	a.owner.open--
	a.owner.ended[why]++
}

// call runs a function on a loop.
type call struct {
	sender.Work
	f func()
}

func (c *call) Run()          { c.f() }
func (c *call) Abandon(error) {}

func on(l *reactor.Loop, f func()) {
	c := &call{f: f}
	c.Runner = c
	l.Enqueue(&c.Work)
}

// run is a run of the simulation.
type run struct {
	m       *reactortest.Machine
	owner   *owner
	clients int
	done    int // clients that have ended
	early   bool
	there   bool // the server
}

// Clients ask again and again until they are answered, while datagrams are lost, duplicated and reordered, the server
// is not there, and sessions end for all reasons. What is answered belongs to the question, and nothing is left.
func TestSimulated(t *testing.T) {
	reactortest.Run(t, func(m *reactortest.Machine) {
		rng := m.Rand()
		r := &run{m: m, clients: 1 + rng.IntN(5), early: rng.IntN(3) == 0, there: rng.IntN(8) != 0}
		behind, other := m.NewMachine("server"), m.NewMachine("clients")
		r.owner = &owner{
			m:      m,
			most:   1 + rng.IntN(4),
			server: behind.AddrPort(serverPort),
			settings: &udp.Settings{
				Idle: time.Duration(1+rng.IntN(2000)) * time.Millisecond, Requests: rng.IntN(3), Responses: rng.IntN(2),
			},
		}
		m.Loop(reactor.LoopConfig{}, r.owner.start)
		if r.there {
			behind.Peer("server", r.serve)
		}
		for i := range r.clients {
			other.Peer(fmt.Sprint("client", i), func(p *reactortest.Peer) { r.ask(p, fmt.Sprint("question of ", i)) })
		}
		m.Peer("stopper", r.stop)
		m.After(r.check)
	})
}

func (o *owner) start(l *reactor.Loop) error {
	o.loop = l
	var s reactor.Socket
	at := netip.AddrPortFrom(netip.IPv4Unspecified(), port)
	if err := s.ListenPacket(l, reactor.ListenConfig{Addr: at}); err != nil {
		return err
	}
	o.listener = udp.New(udp.Config{Loop: l, Owner: o, Address: at})
	o.listener.Add(s.Release(), 0)
	o.listener.Start()
	o.listener.Receive()
	return nil
}

func (r *run) serve(p *reactortest.Peer) {
	s := p.ListenPacket(r.owner.server)
	b := make([]byte, 100)
	for r.done < r.clients {
		_ = s.SetReadDeadline(p.Time().Add(100 * time.Millisecond))
		n, from, err := s.ReadFromAddrPort(b)
		if err == nil {
			_, _ = s.WriteToAddrPort(append([]byte("answer to "), b[:n]...), from)
		}
	}
	_ = s.Close()
}

func (r *run) ask(p *reactortest.Peer, question string) {
	defer func() { r.done++ }()
	c := p.DialPacket(r.m.AddrPort(port))
	defer c.Close()
	b := make([]byte, 100)
	for range 200 {
		_, _ = c.Write([]byte(question))
		_ = c.SetReadDeadline(p.Time().Add(200 * time.Millisecond))
		n, err := c.Read(b)
		switch {
		case err == nil && string(b[:n]) == "answer to "+question:
			return
		case err == nil:
			p.Errorf("%q is the answer to %q", b[:n], question)
		case r.owner.closed:
			return
		}
	}
	if r.there && !r.early {
		p.Errorf("%q is not answered", question)
	}
}

func (r *run) stop(p *reactortest.Peer) {
	o, rng := r.owner, r.m.Rand()
	if r.early {
		p.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
	} else {
		p.Until(func() bool { return r.done == r.clients })
	}
	p.Until(func() bool { return o.listener != nil })
	if rng.IntN(2) == 0 {
		on(o.loop, o.listener.Close)
	} else {
		on(o.loop, o.listener.Drain)
	}
	p.UntilEnded(o.loop)
}

func (r *run) check() {
	o, ended := r.owner, 0
	for _, n := range o.ended {
		ended += n
	}
	if !o.closed || o.open != 0 || ended != o.begun || o.listener.Sessions() != 0 {
		r.m.Errorf("%d sessions are left, and %d of %d have ended", o.open, ended, o.begun)
	}
}
