// Package stats has the statistics of the suite and of a soak: [Of] summarises a sample, [Ratios] compares two samples
// round by round, and [Trend] estimates a slope.
//
// A sample is a slice with one value for each round. In every round all servers are measured one after another. So the
// figures of one round can be compared with each other, and figures of different rounds should not be.
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
	Q1     float64 // a quarter of the values is at most Q1
	Q3     float64 // three quarters of the values are at most Q3
}

// Of summarises values and does not change them. NaN stands for a round without a figure, and is left out. For an empty
// sample every field except N is NaN.
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

// quantile returns the quantile p of a sorted sample. It interpolates linearly between two values (definition 7 of
// Hyndman and Fan).
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := p * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}

// Ratios divides a by b round by round. The ratio is NaN if one of both has no figure.
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

// Format returns the median and, in brackets, the extremes, with the given number of decimals.
func (s Summary) Format(decimals int) string {
	if s.N == 0 {
		return "–"
	}
	f := func(v float64) string { return fmt.Sprintf("%.*f", decimals, v) }
	return f(s.Median) + " (" + f(s.Min) + "–" + f(s.Max) + ")"
}
