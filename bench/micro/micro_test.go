package micro

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/reactord/reactord/reactor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var rings = []reactor.RingKind{reactor.IOUring, reactor.Epoll}

// TestNothingIsAllocated executes ten thousand rounds of every path. The runtime itself allocates a few times
// meanwhile, so an allocation in each round is found, and even one in a hundred rounds.
func TestNothingIsAllocated(t *testing.T) {
	for _, p := range paths {
		for _, kind := range rings {
			t.Run(p.name+"/"+string(kind), func(t *testing.T) {
				b := lay(t, kind, p)
				b.play(1000) // until tables have grown
				n := 10_000
				if testing.Short() {
					n = 1000
				}
				if allocated := b.play(n); allocated > 20 && !raceDetector {
					t.Errorf("%d allocations in %d rounds", allocated, n)
				}
				b.end()
			})
		}
	}
}

// BenchmarkPath measures one round of every path.
func BenchmarkPath(b *testing.B) {
	for _, p := range paths {
		for _, kind := range rings {
			b.Run(p.name+"/"+string(kind), func(b *testing.B) {
				b.ReportAllocs()
				bed := lay(b, kind, p)
				bed.play(100)
				b.ResetTimer()
				bed.play(b.N)
				b.StopTimer()
				bed.end()
			})
		}
	}
}
