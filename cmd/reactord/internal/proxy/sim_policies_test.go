package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// Policies meet on random plans: checks, ejections, panic, retries, budgets, weights, slow starts, limits and reloads,
// while servers die, hang and return, and a hostile client resets its connections. Whatever the plan says:
//
//   - while a server is up by its check and has room, no client is refused for want of one;
//   - while one is up, no client gets one that its check calls down, panic aside;
//   - what a client does ejects no server that works;
//   - a server that an operator forces down gets no client, not even in panic; one that is forced up may be chosen,
//     whatever its checks and ejection say;
//   - when all servers are well again, all of them get connections, in proportion to their weights;
//   - each connection has one line in the access log.
//
// This runs a failing seed again: go test -run TestSimulationOfPolicies -sim.from SEED -sim.seeds 1 -sim.trace
func TestSimulationOfPolicies(t *testing.T) {
	t.Parallel()
	var saw policySightings
	seeds := *simSeeds
	if seeds == 0 {
		seeds = testenv.Seeds(60)
	}
	for seed := *simFrom; seed < *simFrom+seeds; seed++ {
		path := filepath.Join(t.TempDir(), "access.log")
		err := simring.Play(func(k *simring.Kernel) func() {
			s := simulatePolicies(k, path, &saw)
			return s.check
		}, seed, simring.Flawless, traceOutput())
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	t.Logf("%+v", saw)
	if seeds < 60 {
		return
	}
	if saw.served < 1000 || saw.failed < 100 || saw.hung < 100 || saw.down < 100 || saw.ejected < 20 || saw.plans < 100 ||
		saw.out == 0 || saw.trusted < 100 {
		t.Errorf("the simulation did not try enough: %+v", saw)
	}
}

// policySightings counts what the runs have seen.
type policySightings struct {
	served, failed, hung int // clients
	down, ejected        int // transitions of servers
	plans                int
	out, trusted         int // observations of servers that are forced down in panic, and up while they fail
}

// policySimulation is a proxy with checked servers that fail, and clients that come all the time.
type policySimulation struct {
	simulation
	rng     *rand.Rand
	saw     *policySightings
	log     string // the file of the access log
	backend config.Backend
	servers []*flakyServer
	plan    *plan.Plan // the last one that was drawn
	stopped bool       // the servers do
	visits  []*visit
	asking  int        // clients that are connected
	reloads []int64    // when a plan was put in force
	panics  []interval // times at which the group was in panic
}

// interval is a time of the kernel's clock. An interval that has not ended lasts for ever.
type interval struct{ from, to int64 }

// span is a run of times at which something had a value.
type span[T comparable] struct {
	interval
	value T
}

// timeline is what something was over time.
type timeline[T comparable] []span[T]

// set notes a value from now on.
func (l *timeline[T]) set(now int64, value T) {
	if n := len(*l); n != 0 {
		last := &(*l)[n-1]
		if last.value == value {
			return
		}
		last.to = now
	}
	*l = append(*l, span[T]{interval{now, math.MaxInt64}, value})
}

// always reports whether is holds from one time to another.
func (l timeline[T]) always(from, to int64, is func(T) bool) bool {
	known := false
	for _, s := range l {
		if s.to <= from || s.from > to {
			continue
		}
		if !is(s.value) || !known && s.from > from {
			return false
		}
		known = true
	}
	return known
}

// visit is a connection of a client.
type visit struct {
	client       netip.AddrPort
	began, ended int64
	server       int // that has answered; -1: none
	hung         bool
	hostile      bool
}

// fact is what a plan says of a server, and what the proxy has found out.
type fact struct {
	state  upstream.State
	share  int // weight; 0: it is not in the plan, or gets nothing
	health plan.Health
	full   bool // it has as many connections as it may have now
}

// mode is how a server behaves.
type mode uint8

const (
	working mode = iota
	dead         // its port refuses connections
	hanging      // it accepts nothing and answers nothing
)

// flakyServer is a server that works, dies and hangs.
type flakyServer struct {
	s      *policySimulation
	index  int
	server Server
	mode   mode
	was    timeline[mode]
	known  timeline[fact]
}

const (
	// publishing is how long it takes at most until a change of a server is in the group, and is seen here.
	publishing = int64(3 * watching)
	watching   = 20 * time.Millisecond
	patience   = 3 * time.Second // of a client for an answer
)

func simulatePolicies(k *simring.Kernel, log string, saw *policySightings) *policySimulation {
	s := &policySimulation{rng: k.Rand(), saw: saw, log: log}
	k.Odds = simring.Odds{Latency: time.Millisecond, Buffer: 1 << 10, Files: 4096, CQ: 64}
	s.simulation = simulation{k: k, talk: program.NewTalk(k), hurry: true}
	for i := range 1 + s.rng.IntN(5) {
		f := &flakyServer{s: s, index: i, server: drawServer(k, i)}
		if s.rng.IntN(6) == 0 {
			f.mode = mode(s.rng.IntN(3))
		}
		f.was.set(0, f.mode)
		s.servers = append(s.servers, f)
		k.Go(fmt.Sprintf("server%d", i), f.serve)
	}
	s.drawBackend()
	loops := make([]*reactor.Loop, 1+s.rng.IntN(2))
	for i := range loops {
		loops[i] = program.NewLoop(k)
	}
	k.Go("start", func(*simring.Thread) { s.begin(loops) })
	k.Go("driver", s.drive)
	return s
}

// drawBackend draws the policies of the backend. There are enough retries for all servers.
func (s *policySimulation) drawBackend() {
	rng := s.rng
	b := config.NewBackend()
	b.Name = "b"
	b.Balance.Policy = []config.Policy{"p2c", "p2c", "round_robin", "random", "least_connections", "maglev"}[rng.IntN(6)]
	b.Balance.PanicThreshold = []int{0, 0, 0, 50}[rng.IntN(4)]
	b.Balance.SlowStart = time.Duration(rng.IntN(2)) * 3 * time.Second
	b.Check = config.Check{
		Interval: time.Second, Timeout: 200 * time.Millisecond, Rise: 1 + rng.IntN(3), Fall: 1 + rng.IntN(3),
		Send: "c", Expect: "ok", CloseOnDown: rng.IntN(2) == 0,
		Initial: []config.InitialState{"wait", "wait", "up", "down"}[rng.IntN(4)],
	}
	b.Ejection.Failures = rng.IntN(6)
	b.Ejection.MaxPercent = []int{10, 50, 100}[rng.IntN(3)]
	b.Retries = len(s.servers) + rng.IntN(2)
	b.RetryBudget.Percent = 0
	b.ConnectTimeout = time.Second
	if rng.IntN(3) == 0 {
		b.TotalConnectTimeout = 10 * time.Second
	}
	if rng.IntN(3) == 0 {
		b.Hold = time.Duration(1+rng.IntN(10)) * time.Second
	}
	s.backend = b
}

// draw draws a plan: which servers there are, what they weigh, and which have been taken out.
func (s *policySimulation) draw() *plan.Plan {
	rng := s.rng
	f := roomy()
	p := f.plan()
	p.AccessLog = config.AccessLog{Path: s.log, Mode: 0o600, Format: "json", Queue: 1 << 16,
		Fields: []string{"client", "server_address", "by", "phase", "connections", "error"}}
	b := s.backend
	out := plan.Backend{Settings: &b}
	for _, f := range s.servers {
		server := plan.Server{Name: fmt.Sprint(f.index), Address: f.server.addr(), Weight: 1 + rng.IntN(4),
			MaxConnections: []int{0, 0, 8}[rng.IntN(3)]}
		switch rng.IntN(12) {
		case 0:
			server.State = plan.Drain
		case 1:
			server.State = plan.Maintenance
		case 2:
			server.Weight = 0
		case 3:
			server.Backup = true
		case 4:
			server.Priority = 1
		case 5:
			continue
		}
		if rng.IntN(8) == 0 {
			server.Health = plan.Health(1 + rng.IntN(2))
		}
		out.Servers = append(out.Servers, server)
	}
	p.Backends = []plan.Backend{out}
	s.plan = p
	return p
}

// begin runs the proxy.
func (s *policySimulation) begin(loops []*reactor.Loop) {
	p, err := prepare(Config{pairs: 1000, seed: 1}, s.draw(), loops)
	if err != nil {
		s.k.Errorf("prepare: %v", err)
		return
	}
	s.run(p)
}

// drive lets everything happen, and then lets everything be well again.
func (s *policySimulation) drive(t *simring.Thread) {
	t.Until(s.isUp)
	s.k.Go("watcher", s.watch)
	clients := s.k.Go("clients", s.come)
	hostile := s.k.Go("hostile", s.disturb)
	for range 10 + s.rng.IntN(20) {
		switch s.rng.IntN(8) {
		case 0:
			s.reload(t, s.draw())
		case 6:
			s.swap(t)
		case 1, 2, 3, 4, 5:
			s.servers[s.rng.IntN(len(s.servers))].become(mode(s.rng.IntN(3)))
		}
		t.Sleep(time.Duration(s.rng.Int64N(int64(4 * time.Second))))
	}
	for _, f := range s.servers {
		f.become(working)
	}
	s.reload(t, s.unforced())
	t.Sleep(30 * time.Second) // checks pass, and slow starts end
	s.stopped = true
	t.Until(func() bool { return clients.Ended() && hostile.Ended() && s.asking == 0 })
	s.spread(t)
	s.proxy.each((*worker).drain)
}

// unforced returns the last plan without forced health.
func (s *policySimulation) unforced() *plan.Plan {
	next := *s.plan
	next.Backends = slices.Clone(next.Backends)
	servers := slices.Clone(next.Backends[0].Servers)
	for i := range servers {
		servers[i].Health = plan.HealthAuto
	}
	next.Backends[0].Servers = servers
	return &next
}

// swap lets a server return just when another one dies.
func (s *policySimulation) swap(t *simring.Thread) {
	first, second := s.servers[s.rng.IntN(len(s.servers))], s.servers[s.rng.IntN(len(s.servers))]
	first.become(dead)
	t.Sleep(time.Duration(s.rng.Int64N(int64(2 * time.Second))))
	first.become(working)
	if second != first {
		second.become(dead)
	}
}

// reload puts a plan in force.
func (s *policySimulation) reload(t *simring.Thread, p *plan.Plan) {
	c, err := s.proxy.prepareChange(p)
	if err != nil {
		s.k.Errorf("prepare: %v", err)
		return
	}
	s.reloads = append(s.reloads, s.k.Now())
	c.commit()
	t.Until(func() bool { return c.pending.Load() == 0 })
	s.saw.plans++
}

// become changes how the server behaves.
func (f *flakyServer) become(m mode) {
	f.mode = m
	f.was.set(f.s.k.Now(), m)
}

// serve listens as the mode says.
func (f *flakyServer) serve(t *simring.Thread) {
	s, ln := f.s, -1
	for !s.over() {
		m := f.mode
		changed := func() bool { return f.mode != m || s.over() }
		switch {
		case m == dead && ln >= 0:
			_ = s.k.System().Close(ln)
			ln = -1
		case m == working && ln < 0:
			ln = f.server.listen(t)
		}
		if m != working || ln < 0 {
			t.Until(changed)
			continue
		}
		if fd := t.Accept(ln, changed); fd >= 0 {
			s.k.Go("served", func(t *simring.Thread) { f.answer(t, fd) })
		}
	}
	if ln >= 0 {
		_ = s.k.System().Close(ln)
	}
}

// over reports whether the proxy has ended.
func (s *policySimulation) over() bool { return s.proxy != nil && s.up != 0 && s.running == 0 }

// answer says who the server is, once, and waits for the end.
func (f *flakyServer) answer(t *simring.Thread, fd int) {
	k := f.s.k
	for said := false; ; {
		t.Until(func() bool { return f.mode == dead || f.mode == working && k.Ready(fd, unix.POLLIN) || f.s.over() })
		if f.mode == dead || f.s.over() {
			t.Reset(fd)
			return
		}
		n, err := t.Recv(fd, make([]byte, 16))
		switch {
		case errors.Is(err, unix.EAGAIN):
		case err != nil || n == 0:
			_ = k.System().Close(fd)
			return
		case !said:
			said = true
			_, _ = t.Send(fd, fmt.Appendf(nil, "ok%d", f.index))
		}
	}
}

// come has clients come, each as a thread.
func (s *policySimulation) come(t *simring.Thread) {
	for !s.stopped {
		t.Sleep(time.Duration(s.rng.Int64N(int64(200 * time.Millisecond))))
		s.asking++
		s.k.Go("client", func(t *simring.Thread) {
			defer func() { s.asking-- }()
			s.visit(t, time.Duration(s.rng.Int64N(int64(time.Second))))
		})
	}
}

// visit is a client that asks which server it has got, and stays for a while.
func (s *policySimulation) visit(t *simring.Thread, stay time.Duration) *visit {
	v := &visit{server: -1, began: s.k.Now()}
	s.visits = append(s.visits, v)
	defer func() { v.ended = s.k.Now() }()
	fd, err := s.dial(t, v)
	if err != nil {
		return v
	}
	_, _ = t.Send(fd, []byte("x"))
	answer := make([]byte, 8)
	if !t.UntilOr(func() bool { return s.k.Ready(fd, unix.POLLIN) }, patience, "waiting for a server") {
		v.hung = true
		t.Reset(fd)
		return v
	}
	if n, _ := t.Recv(fd, answer); n == 3 {
		v.server = int(answer[2] - '0')
	}
	v.ended = s.k.Now()
	if v.server >= 0 {
		t.Sleep(stay)
	}
	_ = s.k.System().Close(fd)
	return v
}

func (s *policySimulation) dial(t *simring.Thread, v *visit) (int, error) {
	fd, err := t.Dial(s.proxy.Addrs()[0])
	if err != nil {
		return fd, err
	}
	at, err := s.k.System().Getsockname(fd)
	if in4, ok := at.(*unix.SockaddrInet4); ok && err == nil {
		v.client = netip.AddrPortFrom(netip.AddrFrom4(in4.Addr), uint16(in4.Port))
	}
	return fd, nil
}

// disturb is a client that resets its connections while they are being made, or soon after.
func (s *policySimulation) disturb(t *simring.Thread) {
	for !s.stopped {
		t.Sleep(time.Duration(s.rng.Int64N(int64(500 * time.Millisecond))))
		for range s.rng.IntN(4) {
			v := &visit{hostile: true, server: -1, began: s.k.Now()}
			s.visits = append(s.visits, v)
			if fd, err := s.dial(t, v); err == nil {
				if s.rng.IntN(2) == 0 {
					t.Sleep(time.Duration(s.rng.Int64N(int64(4 * time.Millisecond))))
				}
				t.Reset(fd)
			}
			v.ended = s.k.Now()
		}
	}
}

// watch notes what the proxy says of its servers.
func (s *policySimulation) watch(t *simring.Thread) {
	for !s.over() {
		now := s.k.Now()
		facts := make([]fact, len(s.servers))
		for b, servers := range s.proxy.upstreams.All() {
			s.watchPanic(now, b.Group().Panic())
			s.watchForced(now, b.Group())
			for _, server := range servers {
				s.watchServer(now, server, facts)
			}
		}
		for i, f := range s.servers {
			f.known.set(now, facts[i])
		}
		t.Sleep(watching)
	}
}

func (s *policySimulation) watchPanic(now int64, panics bool) {
	open := len(s.panics) != 0 && s.panics[len(s.panics)-1].to == math.MaxInt64
	switch {
	case panics && !open:
		s.panics = append(s.panics, interval{now, math.MaxInt64})
	case !panics && open:
		s.panics[len(s.panics)-1].to = now
	}
}

// watchForced asserts that the group has the servers that are forced up, and not those that are forced down.
func (s *policySimulation) watchForced(now int64, g *upstream.Group) {
	for i, server := range g.Servers {
		f := s.servers[s.indexOf(server.Address)]
		forced := func(h plan.Health) bool {
			return server.Forced() == h &&
				f.known.always(now-publishing, now, func(f fact) bool { return f.health == h && f.share > 0 })
		}
		switch {
		case forced(plan.HealthDown):
			if g.Panic() {
				s.saw.out++
			}
			if g.InUse(i) {
				s.k.Errorf("%s: server %d is forced down, and may be chosen", s.describe(), f.index)
			}
		case forced(plan.HealthUp) && f.last().state == upstream.Up:
			if f.mode != working {
				s.saw.trusted++
			}
			if !g.InUse(i) {
				s.k.Errorf("%s: server %d is forced up, and may not be chosen", s.describe(), f.index)
			}
		}
	}
}

func (s *policySimulation) watchServer(now int64, server *upstream.Server, facts []fact) {
	f, state := s.servers[s.indexOf(server.Address)], server.State()
	read := server.Stats()
	facts[f.index] = fact{
		state, read.Weight, server.Forced(), read.MaxConnections > 0 && read.Connections >= read.MaxConnections,
	}
	if server.Forced() == plan.HealthUp && read.AdminState == "up" && state != upstream.Up {
		s.k.Errorf("%s: server %d is forced up, and is %v: %s", s.describe(), f.index, state, read.Reason)
	}
	if before := f.last(); before.state != state {
		switch state {
		case upstream.Down:
			s.saw.down++
		case upstream.Ejected:
			s.saw.ejected++
			f.checkEjection(now)
		}
	}
}

func (f *flakyServer) last() fact {
	if len(f.known) == 0 {
		return fact{}
	}
	return f.known[len(f.known)-1].value
}

// checkEjection asserts that a server is ejected only if it has failed since it began to work.
func (f *flakyServer) checkEjection(now int64) {
	const memory = 5 * int64(time.Second) // connects that have failed in a row, and timeouts
	if f.was.always(now-memory, now, func(m mode) bool { return m == working }) {
		f.s.k.Errorf("server %d is ejected, and has worked since %v", f.index, time.Duration(f.was[len(f.was)-1].from))
	}
}

// spread asserts that connections are spread in proportion to the weights when nothing fails, one at a time.
func (s *policySimulation) spread(t *simring.Thread) {
	const clients = 300
	facts, total, first := map[int]int{}, 0, true
	servers := s.proxy.Stats().Servers
	best := struct {
		backup   bool
		priority int
	}{}
	for i := range servers { // the most preferred that can be used
		server := &servers[i]
		if server.Weight == 0 || server.AdminState != "up" {
			continue
		}
		if server.State != "up" {
			s.k.Errorf("server %s works, and is %v: %s", server.Name, server.State, server.Reason)
		}
		p := best
		p.backup, p.priority = server.Backup, server.Priority
		if first || !p.backup && best.backup || p.backup == best.backup && p.priority < best.priority {
			best, first = p, false
		}
	}
	for i := range servers {
		server := &servers[i]
		same := server.Backup == best.backup && (best.backup || server.Priority == best.priority)
		if server.Weight != 0 && server.AdminState == "up" && same {
			facts[s.indexOf(serveraddr.MustParse(server.Address))] = server.Weight
			total += server.Weight
		}
	}
	if total == 0 || s.backend.Balance.Policy == "maglev" { // there is one client address
		return
	}
	got := map[int]int{}
	for range clients {
		v := s.visit(t, 0)
		got[v.server]++
		t.Sleep(5 * time.Millisecond)
	}
	for index, weight := range facts {
		share := float64(weight) / float64(total)
		want, sigma := clients*share, math.Sqrt(clients*share*(1-share))
		if math.Abs(float64(got[index])-want) > 5*sigma+2 {
			s.k.Errorf("%s: server %d has got %d of %d connections, its weight is %d of %d: %v",
				s.backend.Balance.Policy, index, got[index], clients, weight, total, got)
		}
	}
}

func (s *policySimulation) indexOf(a serveraddr.Addr) int {
	return slices.IndexFunc(s.servers, func(f *flakyServer) bool { return f.server.addr() == a })
}

// logLine is a line of the access log.
type logLine struct {
	Client netip.AddrPort  `json:"client"`
	Server serveraddr.Addr `json:"server_address"`
	By     string          `json:"by"`
	Phase  string          `json:"phase"`
	Error  string          `json:"error"`
}

// check judges each visit by what was known at its time.
func (s *policySimulation) check() {
	s.checkCounts()
	s.proxy.closeLogs()
	text, err := os.ReadFile(s.log)
	if err != nil {
		s.k.Errorf("%v", err)
	}
	lines, n := map[netip.AddrPort][]logLine{}, uint64(0)
	for line := range bytes.Lines(text) {
		n++
		var l logLine
		if err := json.Unmarshal(line, &l); err != nil {
			s.k.Errorf("%s: %v", line, err)
		}
		lines[l.Client] = append(lines[l.Client], l)
	}
	if accepted := s.proxy.Stats().Listeners[0].Accepted; n != accepted {
		s.k.Errorf("%d connections have %d lines", accepted, n)
	}
	for _, v := range s.visits {
		of := lines[v.client]
		if n := len(of); n > 1 || n == 0 && !v.hostile && v.client.IsValid() { // else it was reset too soon to know its port
			s.k.Errorf("the connection of %v at %v has %d lines: %+v", v.client, time.Duration(v.began), n, of)
		}
		if !v.hostile && len(of) == 1 {
			s.judge(v, &of[0])
		}
	}
}

// judge asserts what holds for each client.
func (s *policySimulation) judge(v *visit, l *logLine) {
	from, to := v.began-publishing, v.ended+publishing
	switch {
	case v.server >= 0:
		s.saw.served++
	case v.hung:
		s.saw.hung++
	default:
		s.saw.failed++
	}
	s.judgeForced(v, l, from, to)
	good := s.findGood(from, to)
	if good == nil {
		return
	}
	if l.refused() {
		s.k.Errorf("%s: the client %v was refused at %v (%s, %s), and server %d was up by its check: it was %v and %v",
			s.describe(), v.client, time.Duration(v.began), l.By, l.Error, good.index, good.was, good.known)
	}
	if !l.Server.IsValid() || l.refused() || s.inPanic(from, to) {
		return
	}
	f := s.servers[s.indexOf(l.Server)]
	if f.known.always(from, to, func(f fact) bool { return f.state == upstream.Down }) {
		s.k.Errorf("%s: the client %v was sent to server %d at %v, which is down by its check, and server %d is not",
			s.describe(), v.client, f.index, time.Duration(v.began), good.index)
	}
}

// judgeForced asserts that a client has not got a server that is forced down.
func (s *policySimulation) judgeForced(v *visit, l *logLine, from, to int64) {
	if !l.Server.IsValid() {
		return
	}
	f := s.servers[s.indexOf(l.Server)]
	if f.known.always(from, to, func(f fact) bool { return f.health == plan.HealthDown && f.state == upstream.Down }) {
		s.k.Errorf("%s: the client %v was sent to server %d at %v, which is forced down", s.describe(), v.client, f.index,
			time.Duration(v.began))
	}
}

func (s *policySimulation) describe() string {
	return fmt.Sprintf("%s, ejection %+v, panic at %d %%", s.backend.Balance.Policy, s.backend.Ejection,
		s.backend.Balance.PanicThreshold)
}

// refused reports whether the connection has got no server.
func (l *logLine) refused() bool {
	for _, e := range []closeReason{
		reasonNoServer, reasonNoneAvailable, reasonRetryBudget, reasonQueueFull, reasonQueueTimeout, reasonConnectTimeout,
		reasonHoldTimeout,
	} {
		if l.By == closeReasons[e].By && l.Phase == closeReasons[e].Phase {
			return true
		}
	}
	return false
}

// findGood finds a server that worked, was up by its check, and had room at times, all of a time in which no plan was
// put in force. During a slow start, a server of a backend that holds connections may have room for a single one.
func (s *policySimulation) findGood(from, to int64) *flakyServer {
	for _, at := range s.reloads {
		if at >= from && at <= to {
			return nil
		}
	}
	for _, f := range s.servers {
		if f.was.always(from, to, func(m mode) bool { return m == working }) &&
			f.known.always(from, to, func(f fact) bool { return f.share != 0 && f.state <= upstream.Ejected }) &&
			!f.known.always(from, to, func(f fact) bool { return f.full }) {
			return f
		}
	}
	return nil
}

func (s *policySimulation) inPanic(from, to int64) bool {
	for _, p := range s.panics {
		if p.from <= to && p.to >= from {
			return true
		}
	}
	return false
}
