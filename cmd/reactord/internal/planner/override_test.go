package planner

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// A server that is added and removed while the file is reloaded and a source reports.
func TestEdit(t *testing.T) {
	var told int
	p, _ := started(t, Config{
		Load:       always(small()),
		Overridden: func(all map[plan.ServerKey]plan.Override, _ map[plan.DrainRule]plan.Stamp) { told = len(all) },
	})
	key := plan.ServerKey{Backend: "app", Address: serveraddr.MustParse("10.9.0.1:80")}
	add := func(in *plan.Plan, parts *plan.Parts) error {
		return parts.AddServer(in, key, plan.Added{Weight: 2}, plan.Stamp{By: "ann"})
	}
	if err := p.Edit(t.Context(), "app", add); err != nil {
		t.Fatal(err)
	}
	if err := p.Edit(t.Context(), "app", add); !errors.Is(err, plan.ErrConflict) {
		t.Errorf("added twice: %v", err)
	}
	if err := p.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := p.Plan().Backend("app").Server("10.9.0.1:80"); s == nil || !s.ByHand || s.Weight != 2 || told != 1 {
		t.Errorf("after a reload: %+v; %d overrides were told", s, told)
	}
	err := p.Edit(t.Context(), "app", func(in *plan.Plan, parts *plan.Parts) error {
		return parts.RemoveServer(in, "app", "10.0.0.1:80", plan.Stamp{})
	})
	if err != nil || p.Plan().Backend("app").Server("10.0.0.1:80") != nil {
		t.Errorf("removed: %v", err)
	}
}

// Of two edits in one moment that exclude each other, one takes effect.
func TestEditsInOneMoment(t *testing.T) {
	p, _ := started(t, Config{Load: always(small()), Gather: time.Hour})
	key := plan.ServerKey{Backend: "app", Address: serveraddr.MustParse("10.9.0.1:80")}
	add := func(in *plan.Plan, parts *plan.Parts) error {
		return parts.AddServer(in, key, plan.Added{}, plan.Stamp{})
	}
	first, second := p.beginEdit("app", add), p.beginEdit("app", add)
	if err := p.Reload(context.Background()); err != nil { // what has come meanwhile does not wait then
		t.Fatal(err)
	}
	if a, b := <-first, <-second; (a == nil) == (b == nil) {
		t.Errorf("%v, %v", a, b)
	}
}

// A forced health ends in time, without anything else that happens.
func TestForcedHealthExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := started(t, Config{Load: always(small())})
		defer p.Close()
		err := p.Override("app", "10.0.0.1:80", plan.Override{Health: plan.HealthDown, Until: time.Now().Add(time.Minute)})
		if err != nil {
			t.Fatal(err)
		}
		health := func() plan.Health { return p.Plan().Backend("app").Server("10.0.0.1:80").Health }
		time.Sleep(time.Minute - time.Second)
		if health() != plan.HealthDown {
			t.Error("it has ended early")
		}
		time.Sleep(2 * time.Second)
		if health() != plan.HealthAuto || len(p.Status().Overrides) != 0 {
			t.Errorf("health %s, overrides %v", health(), p.Status().Overrides)
		}
	})
}
