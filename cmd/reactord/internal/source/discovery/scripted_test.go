package discovery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// A source that is told what it finds reports what one of its kind would, and looks again when that would.
func TestScripted(t *testing.T) {
	a, srv := config.NewDNS(), config.NewDNS()
	a.Name, a.Port, a.Type, a.Weight = "app.test", 80, config.DNSA, 3
	srv.Name, srv.Type, srv.Priority = "_app._tcp.test", config.DNSSRV, 10
	http := config.NewHTTPDiscovery()
	http.URL = "http://discovery.test/"
	two := []plan.Server{
		{Name: "b", Address: serveraddr.MustParse("10.0.0.2:80"), Weight: 5},
		{Name: "a", Address: serveraddr.MustParse("10.0.0.1:80"), Weight: 7, Priority: 1},
	}
	for _, test := range []struct {
		finder config.Finder
		first  string        // of the servers that are found
		after  time.Duration // it looks again, at least
		keeps  bool          // what it knows, if there are no servers
	}{
		{&a, "10.0.0.1:80 3 0", 20 * time.Second, true},
		{&srv, "10.0.0.1:80 7 11", 20 * time.Second, true},
		{&config.FileDiscovery{Path: "/app"}, "a 7 1", 2 * time.Second, false},
		{&http, "a 7 1", 27 * time.Second, false},
		{&config.KubernetesDiscovery{Service: "app"}, "a 7 1", 0, false},
	} {
		t.Run(test.finder.Kind()+" "+test.finder.Key(), func(t *testing.T) {
			var got []plan.Server
			var failed error
			reports := 0
			s := NewScripted(test.finder, 20*time.Second, rand.New(rand.NewPCG(1, 1)), func(all []plan.Server, err error) {
				failed = err
				if reports++; all != nil {
					got = all
				}
			})
			look := func(found []plan.Server, err error) time.Duration {
				s.Set(found, err)
				return s.Poll()
			}
			next := look(two, nil)
			if first := fmt.Sprint(got[0].Name, " ", got[0].Weight, " ", got[0].Priority); len(got) != 2 || first != test.first {
				t.Errorf("found %v, first %s", got, first)
			}
			if next < test.after || test.after > 0 && next > test.after*13/10 || s.Watches() != (test.after == 0) {
				t.Errorf("looks again after %v, watches %v", next, s.Watches())
			}
			if look(two, nil); reports != 1 {
				t.Errorf("%d reports of the same", reports)
			}
			if next := look(nil, ErrUnanswered); !errors.Is(failed, ErrUnanswered) || len(got) != 2 || next > 3*time.Second {
				t.Errorf("unanswered: %v, %v, looks again after %v", got, failed, next)
			}
			if look(nil, nil); (len(got) == 2) != test.keeps || test.keeps != errors.Is(failed, errEmpty) {
				t.Errorf("without servers: %v, %v", got, failed)
			}
			if look(two[:1], nil); len(got) != 1 || failed != nil {
				t.Errorf("found %v, %v", got, failed)
			}
		})
	}
}

// A source that is stopped makes no further attempt.
func TestNoAttemptAfterTheEnd(t *testing.T) {
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		attempts := 0
		p := poller{stats: new(stats), attempt: func(context.Context) outcome {
			attempts++
			cancel()
			return outcome{}
		}}
		if p.run(ctx, func([]plan.Server, error) {}); attempts != 1 {
			t.Fatalf("%d attempts", attempts)
		}
	}
}
