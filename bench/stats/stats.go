// Package stats is the little arithmetic that a comparison needs, and a soak (see [Trend]). A figure that was
// measured once a round is a slice, one value a round; every round measured all the servers one after another, so
// figures of the same round may be compared, and others should not.
package stats

import (
	"fmt"
	"math"
	"slices"
)

// Summary describes a sample: its median, its extremes, and its middle half.
type Summary struct {
	N      int
	Median float64
	Min    float64
	Max    float64
	Q1     float64 // a quarter of the values is at most this
	Q3     float64 // three quarters are
}

// Of summarises values, which it leaves as they are. Values that are not numbers stand for rounds
// without a figure and are left out; of an empty sample every field but N is NaN.
func Of(values []float64) Summary {
	sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	slices.Sort(sorted)
	return Summary{
		N:      len(sorted),
		Median: quantile(sorted, 0.5),
		Min:    quantile(sorted, 0),
		Max:    quantile(sorted, 1),
		Q1:     quantile(sorted, 0.25),
		Q3:     quantile(sorted, 0.75),
	}
}

// quantile interpolates linearly between the two values around position p of a sorted sample
// (Hyndman and Fan's definition 7).
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := p * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}

// Ratios divides a by b round by round. A round that either lacks has no ratio (NaN).
func Ratios(a, b []float64) []float64 {
	r := make([]float64, max(len(a), len(b)))
	for i := range r {
		r[i] = math.NaN()
		if i < len(a) && i < len(b) && b[i] != 0 {
			r[i] = a[i] / b[i]
		}
	}
	return r
}

// Format prints the median and in brackets the extremes, with the given number of decimals.
func (s Summary) Format(decimals int) string {
	if s.N == 0 {
		return "–"
	}
	f := func(v float64) string { return fmt.Sprintf("%.*f", decimals, v) }
	return f(s.Median) + " (" + f(s.Min) + "–" + f(s.Max) + ")"
}
