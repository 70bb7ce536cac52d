package admin_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin/admintest"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"go.uber.org/zap"
)

// blocker blocks a loop.
type blocker struct {
	sender.Work
	began, end chan struct{}
}

func (b *blocker) Run()          { close(b.began); <-b.end }
func (b *blocker) Abandon(error) {}

// TestLoops asks loops that run, while one of them is blocked: the API answers all the same, and says so.
func TestLoops(t *testing.T) {
	var slow admin.SlowTurns
	noticed := make(chan struct{}, 1)
	r, err := reactor.New(reactor.Config{Loops: 2, Loop: reactor.LoopConfig{
		SlowTurn: 50 * time.Millisecond, OnSlowTurn: func(turn reactor.SlowTurn) { slow.Add(turn); noticed <- struct{}{} },
	}})
	if err != nil {
		t.Fatal(err)
	}
	running := make(chan struct{}, 2)
	ended := make(chan error)
	go func() {
		ended <- r.Run(func(*reactor.Loop) error { running <- struct{}{}; return nil })
	}()
	<-running
	<-running
	d := admintest.New(0)
	d.Reactor = r
	a, err := admin.ListenAPI(config.Admin{Address: onSocket(t), Mode: 0o600}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	a.Serve(d, zap.NewAtomicLevel(), &slow)
	c, err := admin.NewClient(admin.Access{Address: a.Address()})
	if err != nil {
		t.Fatal(err)
	}
	b := &blocker{began: make(chan struct{}), end: make(chan struct{})}
	b.Runner = b
	r.Loops()[1].Enqueue(&b.Work)
	<-b.began
	text, _, err := admin.GetInFlight.Call(t.Context(), c, admin.None{})
	if s := string(text); err != nil || !strings.Contains(s, "loop 0: 0 in flight") ||
		!strings.Contains(s, "loop 1: no answer") || !strings.Contains(s, "in a callback for") {
		t.Errorf("in flight: %v, %s", err, s)
	}
	<-noticed
	loops, body, err := admin.ListLoops.Call(t.Context(), c, admin.None{})
	if err != nil || len(loops.Loops) != 2 || loops.Loops[0].Ring == "" {
		t.Errorf("%+v, %v", loops, err)
	}
	if len(loops.SlowTurns) != 1 || loops.SlowTurns[0].Loop != "1" || loops.SlowTurns[0].Lasted < 0.05 {
		t.Errorf("slow turns: %+v", loops.SlowTurns)
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Fatal(err)
	}
	if err := document.validate(document.answer("GET", "/v1/loops", 200), value); err != nil {
		t.Error(err)
	}
	close(b.end)
	c.Close()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	r.Stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestSlowTurnsAreBounded keeps the last ones.
func TestSlowTurnsAreBounded(t *testing.T) {
	r, err := reactor.New(reactor.Config{Loops: 1})
	if err != nil {
		t.Fatal(err)
	}
	var slow admin.SlowTurns
	for i := range 100 {
		slow.Add(reactor.SlowTurn{Loop: r.Loops()[0], Lasted: time.Duration(i) * time.Second})
	}
	d := admintest.New(0)
	s := serveWith(t, d, onSocket(t), &slow)
	loops, _, err := admin.ListLoops.Call(t.Context(), s.client, admin.None{})
	if err != nil || len(loops.SlowTurns) != 16 || loops.SlowTurns[15].Lasted != 99 {
		t.Errorf("%d slow turns, %v", len(loops.SlowTurns), err)
	}
	for _, l := range r.Loops() {
		if err := l.Discard(); err != nil {
			t.Error(err)
		}
	}
}
