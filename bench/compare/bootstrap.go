package compare

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/reactord/reactord/bench/stats"
)

// resamples is the number of resamples of the bootstrap.
const resamples = 10_000

// change returns the difference of the medians of b and a, relative to a's, with its 95 per cent interval. It is
// undefined if the median of a is 0.
func change(a, b []float64) (median, low, high float64) {
	ratio := func(a, b float64) float64 {
		if a == b {
			return 0
		}
		return b/a - 1
	}
	median = ratio(stats.Of(a).Median, stats.Of(b).Median)
	r := rand.New(rand.NewPCG(1, 2)) // the same seed, so that the result is reproducible
	draws := make([]float64, resamples)
	x, y := make([]float64, len(a)), make([]float64, len(b))
	for i := range draws {
		draws[i] = ratio(drawMedian(r, a, x), drawMedian(r, b, y))
	}
	slices.Sort(draws)
	at := func(p float64) float64 { return draws[int(math.Round(p*(resamples-1)))] }
	return median, at(0.025), at(0.975)
}

// drawMedian draws a resample into x, and returns its median.
func drawMedian(r *rand.Rand, from, x []float64) float64 {
	for i := range x {
		x[i] = from[r.IntN(len(from))]
	}
	slices.Sort(x)
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}
