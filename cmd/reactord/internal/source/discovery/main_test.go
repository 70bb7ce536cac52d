package discovery

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for something that should happen soon.
const patience = 15 * time.Second

// reported is a call of a Report.
type reported struct {
	servers []plan.Server
	err     error
}

func (r reported) String() string { return fmt.Sprintf("%v, error %v", addresses(r.servers), r.err) }

// addresses are "ADDRESS weight priority", in order; nil for nil.
func addresses(servers []plan.Server) (out []string) {
	for _, s := range servers {
		out = append(out, fmt.Sprintf("%v w%d p%d", s.Address, s.Weight, s.Priority))
	}
	return out
}

// runner runs a source and collects what it reports.
type runner struct {
	t       *testing.T
	reports chan reported
	last    reported
}

// start runs a source until the end of the test, or until the returned function is called.
func start(t *testing.T, s Source) *runner {
	t.Helper()
	r := &runner{t: t, reports: make(chan reported, 1000)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx, func(servers []plan.Server, err error) { r.reports <- reported{servers, err} })
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error("Run has not returned")
		}
	})
	return r
}

// next is the next report.
func (r *runner) next() reported {
	r.t.Helper()
	select {
	case r.last = <-r.reports:
		return r.last
	case <-time.After(patience):
		r.t.Fatalf("no further report; the last one: %v", r.last)
		return reported{}
	}
}

// await waits for a report without error, of exactly these servers.
func (r *runner) await(want ...string) []plan.Server {
	r.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case r.last = <-r.reports:
			if r.last.err == nil && slices.Equal(addresses(r.last.servers), want) {
				return r.last.servers
			}
		case <-deadline:
			r.t.Fatalf("not reported: %v; the last report: %v", want, r.last)
		}
	}
}

// awaitError waits for a report of an error with the text, and returns it.
func (r *runner) awaitError(text string) reported {
	r.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case r.last = <-r.reports:
			if r.last.err != nil && strings.Contains(r.last.err.Error(), text) {
				return r.last
			}
		case <-deadline:
			r.t.Fatalf("no error with %q; the last report: %v", text, r.last)
		}
	}
}

// eventually waits until cond holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for start := time.Now(); !cond(); time.Sleep(time.Millisecond) {
		if time.Since(start) > patience {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// missing skips the test, or fails it in CI, where everything should be installed.
func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}
