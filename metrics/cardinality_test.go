package metrics

import (
	"strings"
	"testing"

	"github.com/reactord/reactord/internal/series/seriestest"
	"github.com/reactord/reactord/reactor"
)

// The formula of the package's documentation.
func TestCardinality(t *testing.T) {
	const R = 3
	rings := []ring{{"epoll", "eperm", 0, 0}, {"epoll", "eperm", 0, 0}, {"epoll", "eperm", 0, 0}}
	loops := newLoops(rings, R, func(int) reactor.Stats { return reactor.Stats{} })
	if got, want := seriestest.Count(t, loops), 51*R+2; got != want {
		t.Errorf("%d series, want %d", got, want)
	}
	const documented = 165
	process := strings.Count(seriestest.Samples(seriestest.Get(t, Handler())), "\n")
	if process < documented/2 || process > 2*documented {
		t.Errorf("the process has %d series: is the documentation still right?", process)
	}
}
