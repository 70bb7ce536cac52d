package ads

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"github.com/reactord/reactord/internal/testenv"
)

var (
	simSeeds = flag.Uint64("sim.seeds", 0, "number of seeds to run the simulation with; 0: as many as the test wants")
	simFrom  = flag.Uint64("sim.from", 0, "first seed")
	simTrace = flag.Bool("sim.trace", false, "print each step")
)

// tally is what the runs have seen.
type tally struct {
	acks, nacks, streams, others, ignoring, unmentioned, heldBack, forgotten, expired, busy, removed, late int
}

// A machine and a server of one of many kinds, which exchange the bytes of their messages over streams that end at any
// point, in virtual time. Nothing of it is a loop's, so it needs no simulated kernel. This runs a failing seed again,
// with a trace: go test -run TestSimulation -sim.from SEED -sim.seeds 1 -sim.trace
func TestSimulation(t *testing.T) {
	seeds := *simSeeds
	if seeds == 0 {
		seeds = testenv.Seeds(3000)
	}
	var saw tally
	for seed := *simFrom; seed < *simFrom+seeds; seed++ {
		if err := play(seed, &saw); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	t.Logf("%+v", saw)
	if seeds < 3000 {
		return
	}
	for what, n := range map[string]int{
		"ACK": saw.acks, "NACK": saw.nacks, "stream": saw.streams, "other control plane": saw.others,
		"server that ignores versions": saw.ignoring, "removed since not mentioned": saw.unmentioned,
		"NACK held back": saw.heldBack, "forgotten and wanted again": saw.forgotten, "expired": saw.expired,
		"response before an answer": saw.busy, "removed": saw.removed,
		"accepted after all": saw.late,
	} {
		if n < 20 {
			t.Errorf("%s: %d times only", what, n)
		}
	}
}

// world is one run.
type world struct {
	*rand.Rand
	now       time.Time
	saw       *tally
	server    *simServer
	client    *simClient
	up, down  [][]byte // under way to the server, and to the client
	resources int      // of a type
}

// wrong ends a run.
type wrong struct{ error }

func failf(format string, args ...any) { panic(wrong{fmt.Errorf(format, args...)}) }

func (w *world) tracef(format string, args ...any) {
	if *simTrace {
		fmt.Printf(format+"\n", args...)
	}
}

// one says yes one time of n.
func (w *world) one(n int) bool { return w.IntN(n) == 0 }

func play(seed uint64, saw *tally) (err error) {
	defer func() {
		if r := recover(); r != nil {
			w, ok := r.(wrong)
			if !ok {
				panic(r)
			}
			err = w
		}
	}()
	w := &world{Rand: rand.New(rand.NewPCG(seed, 0)), now: time.Unix(1e9, 0), saw: saw}
	w.resources = 1 + w.IntN(6)
	w.newServer()
	w.client = &simClient{
		world: w, Machine: New(Config{Node: &corepb.Node{Id: "n"}}),
		has: map[Type]map[string]string{}, late: map[string]string{},
	}
	w.client.want()
	for range 20 + w.IntN(150) {
		w.step()
	}
	w.finish()
	return nil
}

// step does something.
func (w *world) step() {
	switch w.IntN(12) {
	case 0, 1:
		w.server.change()
	case 2:
		w.client.want()
	case 3, 4, 5:
		w.client.send()
	case 6, 7:
		w.server.step()
	case 8, 9:
		w.client.receive()
	case 10:
		w.client.answer()
		if w.one(10) {
			w.client.retry()
		}
	default:
		switch {
		case w.one(2):
			w.wait(time.Duration(w.IntN(3000)) * time.Millisecond)
		case w.client.live:
			w.end()
			if w.one(3) {
				w.restart()
			}
		default:
			w.begin(true)
		}
	}
	w.client.check()
}

func (w *world) wait(d time.Duration) {
	w.now = w.now.Add(d)
	w.client.tick()
}

func (w *world) end() {
	w.tracef("the stream ends")
	w.client.End()
	w.up, w.down, w.client.unread = nil, nil, nil
	if w.one(5) {
		w.wait(ttl * 2)
	}
}

// restart has the server start anew, another one of the same control plane or another control plane in its place.
func (w *world) restart() {
	if w.one(2) {
		w.tracef("the server has been started again")
		w.server.versions++
		return
	}
	w.newServer()
	w.saw.others++
	w.begin(false)
}

func (w *world) begin(same bool) {
	w.saw.streams++
	w.tracef("a stream begins; the control plane is the same: %v", same)
	w.up, w.down, w.client.unread = nil, nil, nil
	w.server.begin()
	w.client.Begin(same)
}

// quiet has everything be sent, received and answered, until nothing happens.
func (w *world) quiet() {
	for range 10_000 {
		sent := w.client.send()
		w.server.step()
		w.client.receive()
		w.client.answer()
		w.client.check()
		underway := len(w.up) + len(w.down) + len(w.client.out)
		if sent || underway > 0 || w.client.unread != nil || w.server.pending() || w.client.send() {
			continue
		}
		wake := w.client.Wake()
		if wake.IsZero() || wake.After(w.now) && w.server.lives() && wake.Sub(w.now) > DefaultSettle+nackSpaceMax {
			return
		}
		w.wait(min(max(wake.Sub(w.now), 0), heartbeat))
	}
	failf("it does not come to rest")
}

// finish lets a well-behaved server and the client come to rest, and compares what they have.
func (w *world) finish() {
	w.server.behave()
	w.client.stop = true
	if !w.client.live {
		w.begin(true)
	}
	w.quiet()
	// A server that ignores versions is recognised on a stream on which nothing changes.
	w.end()
	w.begin(true)
	w.quiet()
	w.client.retry()
	for _, t := range Types {
		w.server.compare(t, w.client)
		for _, missing := range w.client.Missing(t) {
			if _, exists := w.server.has[t][missing.Name]; exists || missing.Name == Wildcard {
				failf("%s %s is missing", short(string(t)), missing.Name)
			}
		}
	}
}

// simClient is what uses the machine: it keeps what it accepts.
type simClient struct {
	*world
	*Machine
	has    map[Type]map[string]string // bodies
	late   map[string]string          // by "TYPE name": bodies that were refused and may be accepted later
	out    []*Update
	unread *Response // not taken, for flow control
	stop   bool      // it wants nothing else any more
}

// want changes what is wanted: everything of two types, and some names of the others.
func (c *simClient) want() {
	if c.stop {
		return
	}
	for _, t := range Types {
		names := []string{Wildcard}
		if t == Endpoints || t == Secret {
			names = names[:0]
			for i := range c.resources {
				if !c.one(3) {
					names = append(names, fmt.Sprint("r", i))
				}
			}
		}
		if t == Endpoints && c.one(4) && len(names) > 0 {
			// Unwanted for a moment.
			c.wants(t, names[1:])
			c.saw.forgotten++
		}
		c.wants(t, names)
	}
}

func (c *simClient) wants(t Type, names []string) {
	c.tracef("wants %s %v", short(string(t)), names)
	c.Want(c.now, t, names)
	if names = slices.Clone(names); !slices.Contains(names, Wildcard) {
		maps.DeleteFunc(c.has[t], func(n, _ string) bool { return !slices.Contains(names, n) })
		for _, n := range slices.Collect(maps.Keys(c.late)) {
			if kind, name, _ := strings.Cut(n, " "); Type(kind) == t && !slices.Contains(names, name) {
				delete(c.late, n)
			}
		}
	}
}

// send sends some of the requests that there are, and says whether there were any.
func (c *simClient) send() (sent bool) {
	for range 1 + c.IntN(6) {
		r := c.Next(c.now)
		if r == nil {
			for _, s := range c.types {
				c.saw.heldBack += min(len(s.answers), 1)
			}
			return sent
		}
		for n := range r.GetInitialResourceVersions() {
			if _, held := c.has[Type(r.GetTypeUrl())][n]; !held {
				failf("a version of what is not held: %s", write(r))
			}
		}
		bytes, err := proto.Marshal(r)
		if err != nil {
			failf("%v", err)
		}
		c.tracef("-> %s", write(r))
		c.up, sent = append(c.up, bytes), true
	}
	return sent
}

func (c *simClient) receive() {
	r := c.unread
	if r == nil {
		if len(c.down) == 0 {
			return
		}
		r = &Response{}
		if err := proto.Unmarshal(c.down[0], r); err != nil {
			failf("%v", err)
		}
		c.down = c.down[1:]
	}
	if !c.live {
		return
	}
	u, err := c.Receive(c.now, r)
	c.unread = nil
	switch {
	case errors.Is(err, ErrUnanswered):
		c.unread = r
		c.saw.busy++
	case err != nil:
		failf("%v", err)
	default:
		c.out = append(c.out, u)
	}
}

// answer applies and answers one update: what has a bad body is refused.
func (c *simClient) answer() {
	if len(c.out) == 0 {
		return
	}
	i := c.IntN(len(c.out))
	u := c.out[i]
	c.out = slices.Delete(c.out, i, i+1)
	refused := map[string]error{}
	for _, r := range u.Set {
		delete(c.late, c.key(u.Type, r.Name))
		if strings.HasPrefix(string(r.Body), "bad") {
			refused[r.Name] = errors.New("bad")
		} else if strings.HasPrefix(string(r.Body), "odd") && c.one(2) {
			refused[r.Name] = errors.New("odd, beside others")
			c.late[c.key(u.Type, r.Name)] = string(r.Body)
		} else if c.wanted(u.Type, r.Name) {
			c.set(u.Type, r.Name, string(r.Body))
		}
	}
	for _, n := range u.Removed {
		c.remove(u.Type, n)
		c.saw.removed++
	}
	c.tracef("applied %s %s, refused %v", short(string(u.Type)), u.write(), slices.Collect(maps.Keys(refused)))
	c.Answer(u, refused)
}

func (c *simClient) wanted(t Type, name string) bool { return c.of(t).wants(name) }

func (c *simClient) set(t Type, name, body string) {
	if c.has[t] == nil {
		c.has[t] = map[string]string{}
	}
	c.has[t][name] = body
}

func (c *simClient) remove(t Type, name string) {
	delete(c.has[t], name)
	delete(c.late, c.key(t, name))
}

func (c *simClient) key(t Type, name string) string { return string(t) + " " + name }

// retry accepts what was refused beside others, without a word to the machine.
func (c *simClient) retry() {
	for key, body := range c.late {
		t, name, _ := strings.Cut(key, " ")
		if c.wanted(Type(t), name) {
			c.tracef("accepted after all: %s %s=%s", short(t), name, body)
			c.set(Type(t), name, body)
			c.saw.late++
		}
	}
	clear(c.late)
}

func (c *simClient) tick() {
	expire := c.of(Listener).expire
	for _, u := range c.Tick(c.now) {
		c.tracef("%v: gone are %s %s", c.now, short(string(u.Type)), u.write())
		for _, n := range u.Removed {
			c.remove(u.Type, n)
			if u.Type == Cluster {
				c.saw.unmentioned++
			}
		}
	}
	c.saw.expired += expire - c.of(Listener).expire
}

// check compares what the machine believes to be held with what is.
func (c *simClient) check() {
	for _, t := range Types {
		for name, state := range c.All(t) {
			body, held := c.has[t][name]
			if (state == Held || state == HeldRefused) && !held {
				failf("the machine believes that %s %s is held", short(string(t)), name)
			}
			if strings.HasPrefix(body, "bad") {
				failf("%s %s is held although it was refused", short(string(t)), name)
			}
		}
	}
}
