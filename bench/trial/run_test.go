package trial

import (
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/bench/engine"
	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/bench/resp"
)

// oneAtATime runs an echo server that serves one message of all connections in each pause.
func oneAtATime(t *testing.T, pause time.Duration) engine.Target {
	return serve(t, func(message []byte) []byte { return message }, pause)
}

// serve runs a server that replies to one message of all connections in each pause. A message comes in one piece.
func serve(t *testing.T, reply func(message []byte) []byte, pause time.Duration) engine.Target {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var mu sync.Mutex
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buf := make([]byte, 128)
				for {
					n, err := c.Read(buf)
					if err != nil {
						return
					}
					mu.Lock()
					time.Sleep(pause)
					_, _ = c.Write(reply(buf[:n]))
					mu.Unlock()
				}
			}()
		}
	}()
	target, err := engine.ParseTarget("tcp://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func echo(target engine.Target) engine.Config {
	return engine.Config{Target: target, Connections: 8, Parts: []engine.Part{{Name: "echo", Mode: &engine.Echo{}}}}
}

// The search ends just below the highest rate of the server.
func TestFindMax(t *testing.T) {
	const pause = 4 * time.Millisecond
	demands, err := ParseDemands("p99<1s,errors=0")
	if err != nil {
		t.Fatal(err)
	}
	r := Run{Load: echo(oneAtATime(t, pause)), Plan: Plan{Time: 300 * time.Millisecond, Trial: 500 * time.Millisecond,
		Demands: demands}}
	res, err := r.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tries, met := 0, 0
	for _, p := range res.Phases {
		if p.Met != nil {
			tries++
			if *p.Met {
				met++
			}
		}
	}
	// The server may sleep longer than the pause, but not less.
	most := float64(time.Second) / float64(pause)
	if got := res.Measured()[0].Rate; got > 1.03*most || tries < 3 || met == 0 {
		t.Errorf("%.1f/s were found by %d tries of which %d met the demands; the server can do at most %.0f/s", got, tries,
			met, most)
	}
}

// A rate that fails is tried again before a lower rate, and every trial is in the result.
func TestFindMaxRepeatsWhatFails(t *testing.T) {
	demands, err := ParseDemands("p50<1us")
	if err != nil {
		t.Fatal(err)
	}
	r := Run{Load: echo(oneAtATime(t, 0)), Plan: Plan{Time: time.Second, Trial: 10 * time.Millisecond, Tries: 3,
		Demands: demands, Rates: []float64{800}}}
	res, err := r.Do(t.Context())
	if !errors.Is(err, ErrUnmet) {
		t.Fatal(err)
	}
	var rates []float64
	for _, p := range res.Phases {
		if p.Kind == record.Search {
			rates = append(rates, p.Rate)
		}
	}
	if len(rates) < 9 || !slices.Equal(rates[:9], []float64{800, 800, 800, 400, 400, 400, 200, 200, 200}) {
		t.Errorf("tried were %v", rates)
	}
}

func TestFindMaxOfTheImpossible(t *testing.T) {
	demands, err := ParseDemands("p50<1us")
	if err != nil {
		t.Fatal(err)
	}
	r := Run{Load: echo(oneAtATime(t, 10*time.Millisecond)),
		Plan: Plan{Time: time.Second, Trial: 20 * time.Millisecond, Demands: demands}}
	res, err := r.Do(t.Context())
	if !errors.Is(err, ErrUnmet) || res.Failed == "" || len(res.Measured()) != 0 {
		t.Errorf("%v; %d phases were measured", err, len(res.Measured()))
	}
}

// The phases have the planned order and number.
func TestShape(t *testing.T) {
	r := Run{Load: echo(oneAtATime(t, 0)), Plan: Plan{Time: 50 * time.Millisecond, WarmUp: 50 * time.Millisecond,
		Ramp: 50 * time.Millisecond, Rates: []float64{200, 400}, Repeats: 2}}
	res, err := r.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		kind     record.Kind
		rate     float64
		messages int64
	}{{record.SetUp, 0, 0}, {record.WarmUp, 200, 10}, {record.Ramp, 200, 5}, {record.Measure, 200, 10}, {record.Measure,
		400, 20}, {record.Measure, 200, 10}, {record.Measure, 400, 20}}
	if len(res.Phases) != len(want) {
		t.Fatalf("%d phases, want %d", len(res.Phases), len(want))
	}
	for i, w := range want {
		p := &res.Phases[i]
		if p.Kind != w.kind || p.Rate != w.rate || p.Total().Messages != w.messages {
			t.Errorf("phase %d: %s at %v/s with %d messages, want %+v", i, p.Kind, p.Rate, p.Total().Messages, w)
		}
	}
}

// A warm-up in which bytes are to be compared lasts until some came back: here the first message sets the key.
func TestWarmUpUntilCompared(t *testing.T) {
	var store resp.Store
	target := serve(t, func(message []byte) []byte {
		_, reply, _ := store.Answer(message, nil)
		return reply
	}, 20*time.Millisecond)
	load := engine.Config{Target: target, Connections: 1,
		Parts: []engine.Part{{Name: "get", Mode: &engine.Redis{Command: "get", Keys: 1, Size: 1}}}}
	r := Run{Load: load, Plan: Plan{Time: time.Millisecond, WarmUp: time.Millisecond, Compare: true}}
	res, err := r.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var warm []int64
	for i := range res.Phases {
		if p := &res.Phases[i]; p.Kind == record.WarmUp {
			warm = append(warm, p.Total().Verified)
		}
	}
	if n := len(warm); n < 2 || warm[0] != 0 || warm[n-1] == 0 {
		t.Errorf("bytes compared in each part of the warm-up: %v", warm)
	}
}

func TestWrongPlans(t *testing.T) {
	for _, p := range []Plan{{}, {Time: time.Second, Rates: []float64{-1}}, {Time: time.Second, Ramp: time.Second},
		{Time: time.Second, Rates: []float64{1, 2}, Demands: Demands{{}}}} {
		if err := p.prepare(); err == nil {
			t.Errorf("%+v was taken for a plan", p)
		}
	}
}

// A run warns about what makes its result doubtful.
func TestARunWarns(t *testing.T) {
	r := Run{Load: echo(oneAtATime(t, 4*time.Millisecond)),
		Plan: Plan{Time: 200 * time.Millisecond, Rates: []float64{1000}}}
	res, err := r.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the rate was to be 1000 messages/s", "s were measured",
		"the generator and the target"} {
		if !slices.ContainsFunc(res.Warnings, func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("%q is not in the warnings %q", want, res.Warnings)
		}
	}
}

func TestWarnings(t *testing.T) {
	r := Run{Load: echo(engine.Target{Scheme: "tcp"}), result: &record.Result{Loops: 1, Connections: 50_000,
		SharedCPUs: true}}
	r.result.Machine.OpenFiles, r.result.Machine.PortLow, r.result.Machine.PortHigh = 1024, 32768, 60999
	r.result.Machine.Allowed = []int{0}
	p := phase()
	p.Kind, p.Busy, p.Rate, p.Elapsed = record.Measure, 0.95, 1000, 1
	p.Parts[0].Lag.Record(int64(20 * time.Millisecond))
	p.Client.Wait = time.Second
	r.result.Phases = []record.Phase{*p}
	r.Load.Ports = engine.PortRange{Low: 20000, High: 49999} // more than the system has, and all the same too few
	r.warn()
	if len(r.result.Warnings) != 9 {
		t.Errorf("%d warnings, want one of each kind: %q", len(r.result.Warnings), r.result.Warnings)
	}
	quiet := Run{Load: echo(engine.Target{Scheme: "tcp"}), result: &record.Result{Loops: 1, Connections: 5}}
	quiet.result.Machine.OpenFiles = 1024
	p = phase()
	p.Kind, p.Elapsed = record.Measure, 20
	p.Parts[0].Errors = record.Failures{}
	quiet.result.Phases = []record.Phase{*p}
	if quiet.warn(); len(quiet.result.Warnings) != 0 {
		t.Errorf("%q are warned about", quiet.result.Warnings)
	}
}
