package metrics

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reactord/reactord/reactor"
)

// The formula of the package's documentation.
func TestCardinality(t *testing.T) {
	const R, L, B, S, E, T, F, bounds = 3, 4, 5, 7, 6, 8, 9, 13
	const H = bounds + 3
	timings := Histogram{Bounds: make([]float64, bounds), Counts: make([]uint64, bounds+1)}
	for i := range timings.Bounds {
		timings.Bounds[i] = float64(i)
	}
	reasons := func(n int) (out []Count) {
		for i := range n {
			out = append(out, Count{Reason: fmt.Sprint(i)})
		}
		return out
	}
	var stats ProxyStats
	for i := range L {
		l := ListenerStats{Name: fmt.Sprint(i), AcceptErrors: reasons(E), Duration: timings}
		for j := range T {
			l.Closed = append(l.Closed, EndCount{End: End{By: fmt.Sprint(j)}})
		}
		stats.Listeners = append(stats.Listeners, l)
	}
	for i := range B {
		stats.Backends = append(stats.Backends, BackendStats{fmt.Sprint(i), timings})
	}
	for i := range S {
		stats.Servers = append(stats.Servers, ServerStats{Backend: "0", Name: fmt.Sprint(i), Failures: reasons(F)})
	}
	loops := loopCollector{
		rings: []ring{{"epoll", "eperm", 0, 0}, {"epoll", "eperm", 0, 0}, {"epoll", "eperm", 0, 0}},
		read:  func() []reactor.Stats { return make([]reactor.Stats, R) },
	}
	got := strings.Count(samples(expose(t, loops)), "\n") + strings.Count(samples(expose(t, NewProxy(func() ProxyStats { return stats }))), "\n")
	if want := 13*R + (6+E+T+H)*L + H*B + (3+F)*S + 2; got != want {
		t.Errorf("%d series, want %d", got, want)
	}
	const documented = 165
	if process := strings.Count(samples(get(t, Handler())), "\n"); process < documented/2 || process > 2*documented {
		t.Errorf("the process has %d series: is the documentation still right?", process)
	}
}
