package proxy

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// Two processes with the same sockets of UDP on one simulated kernel: the first hands its sessions over to the second,
// while datagrams are lost, duplicated and reordered, and either may be killed at any time. Unless one is, each client
// has one session throughout: the server sees it at one address. Nothing is left.
func TestSimulationOfSessionHandovers(t *testing.T) {
	t.Parallel()
	defer abandonTasks() // of the processes that were killed
	var saw struct {
		handoverCounts
		answers int
	}
	seeds := manySeeds()
	for seed := *simFrom; seed < *simFrom+seeds; seed++ {
		var s *sessionSimulation
		err := simring.Play(func(k *simring.Kernel) func() {
			s = simulateSessions(k)
			return s.check
		}, seed, simring.Flaw(*simFlaw), traceOutput())
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		saw.answers += s.answers
		saw.add(&s.handoverSimulation)
	}
	t.Logf("%+v", saw)
	if seeds >= 100 && (saw.answers < 100 || saw.taken < 50 || saw.kills < 10) {
		t.Errorf("the simulation did not try enough: %+v", saw)
	}
}

// sessionSimulation is two processes with a listener of UDP, their clients and their server.
type sessionSimulation struct {
	handoverSimulation
	answers int
	served  bool // the clients are done
}

var mirrorAddress = netip.MustParseAddrPort("127.0.0.1:9000")

func simulateSessions(k *simring.Kernel) *sessionSimulation {
	rng := k.Rand()
	s := &sessionSimulation{}
	s.simulation = simulation{k: k, talk: program.NewTalk(k), clients: 1 + rng.IntN(8)}
	s.kills = rng.IntN(3) == 0
	k.Odds.NoDescriptor = 0 // a session that is refused for want of one begins anew
	k.Go("mirror", s.mirror)
	loops := [2]int{1 + rng.IntN(3), 1 + rng.IntN(3)}
	for i := range s.processes {
		p := s.newProcess(i)
		p.Go(fmt.Sprintf("start%d", i), func(t *simring.Thread) {
			all := make([]*reactor.Loop, loops[i])
			for j := range all {
				all[j] = program.NewLoop(k)
			}
			if i == 1 {
				t.Until(s.processes[0].isUp)
			}
			s.startProcess(i, all)
		})
	}
	for i := range s.clients {
		k.Go(fmt.Sprintf("client%d", i), s.client)
	}
	k.Go("upgrade", s.upgrade)
	return s
}

// startProcess prepares a proxy. The second one gets the sockets of the first, as an upgrade passes them.
func (s *sessionSimulation) startProcess(i int, loops []*reactor.Loop) {
	f := roomy()
	l := &f.Listeners[0]
	l.UDP = &config.UDP{IdleTimeout: time.Hour}
	l.Address = netip.AddrPortFrom(l.Address.Addr(), uint16(80+i))
	f.Backends = []Backend{{Name: "b", Servers: []Server{{Name: "mirror", Address: mirrorAddress}}}}
	f.seed, f.ports, f.AwaitSessions = 1, 1000, i == 1
	p, err := f.prepare(loops)
	if err != nil {
		s.k.Errorf("prepare: %v", err)
		return
	}
	if i == 1 {
		s.inherit(p)
	}
	s.processes[i].run(p)
}

// inherit gives the sockets of the first process to a proxy.
func (s *sessionSimulation) inherit(p *Proxy) {
	from, to := s.processes[0].proxy.table.Load().listeners[0], p.table.Load().listeners[0]
	for _, l := range to.loops {
		l.udp.Discard()
	}
	delete(p.table.Load().byKey, to.key)
	to.key, to.address = from.key, from.address
	p.table.Load().byKey[to.key] = to
	for i, fd := range from.sockets() {
		copied, err := s.k.System().FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			s.k.Errorf("dup: %v", err)
			return
		}
		to.loops[i%len(to.loops)].add(copied)
		to.given++
	}
}

// mirror is a server that answers with the address that the datagram came from.
func (s *sessionSimulation) mirror(t *simring.Thread) {
	fd := s.socket(mirrorAddress)
	b := make([]byte, 100)
	for {
		t.Until(func() bool { return s.k.Ready(fd, unix.POLLIN) || s.served })
		if s.served {
			break
		}
		n, from, err := s.k.System().Recvfrom(fd, b, unix.MSG_DONTWAIT)
		if err == nil {
			text := fmt.Sprintf("%s %d", b[:n], from.(*unix.SockaddrInet4).Port)
			_, _ = s.k.System().Sendto(fd, []byte(text), from)
		}
	}
	_ = s.k.System().Close(fd)
}

// socket makes a socket of UDP with an address.
func (s *sessionSimulation) socket(at netip.AddrPort) (fd int) {
	s.k.Spared(func() {
		var err error
		if fd, err = s.k.System().Socket(unix.AF_INET, unix.SOCK_DGRAM, 0); err != nil {
			s.k.Errorf("socket: %v", err)
		}
		if err := s.k.System().Bind(fd, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err != nil {
			s.k.Errorf("bind: %v", err)
		}
	})
	return fd
}

// client asks until it has some answers. Each has the address by which the server knows it.
func (s *sessionSimulation) client(t *simring.Thread) {
	defer func() { s.clients-- }()
	first, rng := s.processes[0], s.k.Rand()
	t.Until(func() bool { return first.isUp() || first.killed })
	if first.killed {
		return
	}
	to := first.proxy.Addrs()[0]
	fd := s.socket(netip.MustParseAddrPort("127.0.0.1:0"))
	b, known := make([]byte, 100), 0
	asks := 1 + rng.IntN(8)
	for n, tries := 0, 0; n < asks && tries < 300; tries++ {
		question := fmt.Sprintf("%d", n)
		_, _ = s.k.System().Sendto(fd, []byte(question), &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
		if !t.UntilOr(func() bool { return s.k.Ready(fd, unix.POLLIN) }, 300*time.Millisecond, "awaits an answer") {
			if s.processes[1].killed || first.killed && !s.processes[1].isUp() {
				break // nobody is left to answer
			}
			continue
		}
		size, _, err := s.k.System().Recvfrom(fd, b, unix.MSG_DONTWAIT)
		var of, port int
		if err != nil {
			continue
		}
		if _, err := fmt.Sscan(string(b[:size]), &of, &port); err != nil {
			s.k.Errorf("the answer is %q", b[:size])
			break
		}
		if known != 0 && known != port && !s.kills {
			s.k.Errorf("a client has got an answer by port %d, and before by %d", port, known)
		}
		known = port
		if of != n {
			continue // to an earlier question
		}
		n++
		s.answers++
		t.Sleep(time.Duration(rng.Int64N(1 << rng.IntN(25))))
	}
	_ = s.k.System().Close(fd)
}

// upgrade replaces the first process by the second, which ends when the clients are done.
func (s *sessionSimulation) upgrade(t *simring.Thread) {
	rng := s.k.Rand()
	first, second := s.processes[0], s.processes[1]
	t.Until(func() bool { return first.isUp() && second.isUp() })
	t.Sleep(time.Duration(rng.Int64N(1 << rng.IntN(26))))
	first.proxy.each((*worker).stopAccepting)
	first.proxy.each((*worker).drain)
	for i := range second.proxy.Channels(len(first.proxy.workers)) {
		s.connect(first, second, i)
	}
	second.proxy.TakesAll()
	if s.kills {
		t.Sleep(time.Duration(rng.Int64N(1 << rng.IntN(24))))
		victim := s.processes[rng.IntN(2)]
		victim.killed = true
		victim.Kill()
	}
	t.Until(func() bool { return s.clients == 0 })
	s.served = true
	for _, p := range s.processes {
		if !p.killed {
			p.proxy.each((*worker).close)
		}
	}
}

// check asserts that nothing is left.
func (s *sessionSimulation) check() {
	var moved, taken uint64
	for _, p := range s.processes {
		if p.killed {
			continue
		}
		p.checkCounts()
		moved, taken = moved+p.proxy.handovers.moved.Load(), taken+p.proxy.handovers.taken.Load()
		for _, w := range p.proxy.workers {
			if !w.sessions.Empty() || len(w.offers) != 0 || len(w.takings) != 0 {
				s.k.Errorf("sessions, %d offers or %d takings are left", len(w.offers), len(w.takings))
			}
		}
		if n := p.proxy.sessions.Load(); n != 0 {
			s.k.Errorf("%d sessions are counted", n)
		}
	}
	if !s.kills && moved != taken {
		s.k.Errorf("%d sessions have moved, and %d were taken", moved, taken)
	}
}
