package health

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"golang.org/x/sys/unix"
)

var (
	simSeeds = flag.Uint64("sim.seeds", 0, "number of seeds to run the simulation with; 0: as many as the test wants")
	simFrom  = flag.Uint64("sim.from", 0, "first seed")
	simTrace = flag.Bool("sim.trace", false, "print each step")
)

// manySeeds is how many seeds a simulation is run with.
func manySeeds() uint64 {
	if *simSeeds != 0 {
		return *simSeeds
	}
	return testenv.Seeds(100)
}

// tally is what the runs have seen.
type tally struct{ up, down, inconclusive, checks, agents, stoppedInFlight int }

// Monitors on a simulated kernel, with servers that answer, hang, reset and are not there, while monitors are stopped,
// started and configured. This runs a failing seed again, with a trace:
// go test -run TestSimulation -sim.from SEED -sim.seeds 1 -sim.trace
func TestSimulation(t *testing.T) {
	var trace io.Writer
	if *simTrace {
		trace = os.Stdout
	}
	var saw tally
	seeds := manySeeds()
	for seed := *simFrom; seed < *simFrom+seeds; seed++ {
		err := simring.Play(func(k *simring.Kernel) func() {
			s := &simulation{k: k, rng: k.Rand(), saw: &saw}
			s.start()
			return s.check
		}, seed, simring.Flawless, trace)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	t.Logf("%+v", saw)
	if seeds >= 100 {
		for what, n := range map[string]int{
			"up": saw.up, "down": saw.down, "inconclusive": saw.inconclusive, "checks": saw.checks, "agents": saw.agents,
			"stopped in flight": saw.stoppedInFlight,
		} {
			if n < 20 {
				t.Errorf("%s: %d times only", what, n)
			}
		}
	}
}

// simulation is monitors of servers on a loop, and an operator.
type simulation struct {
	k        *simring.Kernel
	rng      *rand.Rand
	saw      *tally
	loop     *reactor.Loop
	up       bool
	ended    bool
	subjects []*subject
}

// subject is a server that is monitored, and its observer, with a model of what it must be told.
type subject struct {
	s        *simulation
	address  netip.AddrPort
	m        Monitor
	check    config.Check
	agent    config.Agent
	model    streak
	healthy  bool // as told
	checked  bool // something was told since Start
	running  bool
	stopping bool
}

func (s *simulation) start() {
	s.loop = program.NewLoop(s.k)
	for i := range 1 + s.rng.IntN(3) {
		o := &subject{s: s, address: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(9000+i))}
		s.subjects = append(s.subjects, o)
		if s.rng.IntN(5) != 0 {
			s.k.Go(fmt.Sprintf("server%d", i), func(t *simring.Thread) { s.serve(t, o.address, i) })
			s.k.Go(fmt.Sprintf("UDP server%d", i), func(t *simring.Thread) { s.serveUDP(t, o.address) })
		}
	}
	s.k.Go("loop", func(*simring.Thread) {
		err := s.loop.Run(func() { s.up = true })
		s.ended = true
		program.Ended(s.k, s.loop, err)
	})
	s.k.Go("operator", s.operate)
}

// serve answers connections in all ways that there are.
func (s *simulation) serve(t *simring.Thread, address netip.AddrPort, server int) {
	ln := t.Listen(address)
	for i := 0; ; i++ {
		fd := t.Accept(ln, func() bool { return s.ended })
		if fd < 0 {
			break
		}
		s.k.Go(fmt.Sprintf("served%d.%d", server, i), func(t *simring.Thread) { s.answer(t, fd) })
	}
	_ = s.k.System().Close(ln)
}

// serveUDP answers some datagrams, rightly or wrongly, now or after a while.
func (s *simulation) serveUDP(t *simring.Thread, address netip.AddrPort) {
	sys := s.k.System()
	fd, err := sys.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0)
	for err != nil { // until there are descriptors
		t.Sleep(time.Millisecond)
		fd, err = sys.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0)
	}
	if err := sys.Bind(fd, &unix.SockaddrInet4{Port: int(address.Port()), Addr: address.Addr().As4()}); err != nil {
		s.k.Errorf("bind: %v", err)
	}
	for b := make([]byte, 100); !s.ended; {
		_, from, err := sys.Recvfrom(fd, b, 0)
		if err != nil {
			t.Sleep(time.Duration(1 + s.rng.Int64N(int64(5*time.Millisecond))))
			continue
		}
		if answer := []string{"", "PO", "PONG", "PONG", "PONG"}[s.rng.IntN(5)]; answer != "" {
			_, _ = sys.Sendto(fd, []byte(answer), from)
		}
	}
	_ = sys.Close(fd)
}

func (s *simulation) answer(t *simring.Thread, fd int) {
	lines := []string{"+PONG\r\n", "+PONG\r\n", "+PONG\r\n", "-ERR\n", "up 50%\n", "down # x\n", "ready up\n", ""}
	line := []byte(lines[s.rng.IntN(len(lines))])
	for len(line) > 0 {
		n, err := t.Send(fd, line[:1+s.rng.IntN(len(line))])
		if err != nil && !again(err) {
			break
		}
		if line = line[max(n, 0):]; s.rng.IntN(3) == 0 {
			t.Sleep(time.Duration(s.rng.Int64N(int64(20 * time.Millisecond))))
		} else {
			t.Yield()
		}
	}
	switch s.rng.IntN(3) {
	case 0:
		t.Reset(fd)
		return
	case 1: // until the other side closes
		buf := make([]byte, 64)
		for {
			t.Await(fd, false)
			n, err := t.Recv(fd, buf)
			if err == nil && n == 0 || err != nil && !again(err) {
				break
			}
		}
	}
	_ = s.k.System().Close(fd)
}

// operate starts, configures and stops monitors, and the loop in the end.
func (s *simulation) operate(t *simring.Thread) {
	t.Until(func() bool { return s.up })
	for range 2 + s.rng.IntN(20) {
		o := s.subjects[s.rng.IntN(len(s.subjects))]
		sender.Execute(s.loop, o.change)
		t.Sleep(time.Duration(s.rng.Int64N(int64(200 * time.Millisecond))))
	}
	if s.rng.IntN(2) == 0 { // else the loop's end ends them
		for _, o := range s.subjects {
			sender.Execute(s.loop, func() {
				if o.running {
					o.stop()
				}
			})
		}
		t.Until(func() bool {
			for _, o := range s.subjects {
				if o.running || o.stopping {
					return false
				}
			}
			return true
		})
	}
	s.loop.Stop()
}

// settings are drawn.
func (o *subject) draw() {
	rng := o.s.rng
	o.check = config.Check{
		Interval: time.Duration(rng.Int64N(int64(60 * time.Millisecond))),
		Timeout:  time.Duration(1 + rng.Int64N(int64(20*time.Millisecond))),
		Rise:     rng.IntN(4), Fall: rng.IntN(4),
		Proxy: rng.IntN(2) == 0,
	}
	switch rng.IntN(4) {
	case 2:
		o.check.Protocol, o.check.Send, o.check.Expect = config.CheckUDP, "PING", "PONG"
	case 0:
		o.check.Send, o.check.Expect = "PING\r\n", "PONG"
	case 1:
		o.check.Steps = []config.CheckStep{{Send: "PING\r\n", Expect: "+PO"}, {Send: "PING\r\n", ExpectHex: "4e47"}}
	}
	o.agent = config.Agent{}
	if rng.IntN(2) == 0 {
		o.agent = config.Agent{Port: int(o.address.Port()), Interval: o.check.Interval, Timeout: o.check.Timeout}
	}
}

// change is called on the loop.
func (o *subject) change() {
	switch {
	case o.stopping:
	case !o.running:
		o.draw()
		o.running, o.checked, o.healthy = true, false, true
		o.model = newStreak(max(1, o.check.Fall))
		check, agent := o.check, o.agent
		o.m.Start(Config{
			Loop: o.s.loop, Address: serveraddr.IP(o.address), Check: &check, Agent: &agent, Observer: o, OnCheck: o.onCheck,
			Seed: o.s.rng.Uint64(),
		})
	case o.s.rng.IntN(2) == 0:
		o.draw()
		check, agent := o.check, o.agent
		o.m.Configure(&check, nil, &agent)
	default:
		o.stop()
	}
}

func (o *subject) stop() {
	if o.m.check.inFlight {
		o.s.saw.stoppedInFlight++
	}
	o.running, o.stopping = false, true
	o.m.Stop(func() {
		o.stopping = false
		if o.m.check.inFlight || o.m.agent.inFlight || o.m.check.timer.Pending() || o.m.agent.timer.Pending() {
			o.s.k.Errorf("something is left of a Monitor that was stopped")
		}
	})
}

func (o *subject) onCheck(err error, took time.Duration) {
	o.s.saw.checks++
	if !o.running {
		o.s.k.Errorf("a check is told after Stop")
	}
	if errors.Is(err, sender.ErrStopped) {
		o.s.k.Errorf("a check that was stopped is told")
	}
	if errors.Is(err, ErrInconclusive) {
		o.s.saw.inconclusive++
		return
	}
	o.model = o.model.next(err == nil, max(1, o.check.Rise), max(1, o.check.Fall))
}

func (o *subject) OnHealth(up bool, reason error) {
	if up {
		o.s.saw.up++
	} else {
		o.s.saw.down++
	}
	if !o.running || up == o.healthy || up != o.model.state.Healthy() || up != (reason == nil) {
		o.s.k.Errorf("told up=%v because of %v; before %v, want %v", up, reason, o.healthy, o.model.state)
	}
	o.healthy = up
}

func (o *subject) OnAgent(AgentReport) {
	o.s.saw.agents++
	if !o.running && o.agent.Port != 0 {
		o.s.k.Errorf("a report is told after Stop")
	}
}

func (s *simulation) check() {
	for _, o := range s.subjects {
		if o.running && o.healthy != o.model.state.Healthy() {
			s.k.Errorf("told healthy=%v, and it is %v", o.healthy, o.model.state)
		}
		if o.m.check.inFlight || o.m.agent.inFlight {
			s.k.Errorf("a check has not ended")
		}
	}
}

func again(err error) bool { return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) }
