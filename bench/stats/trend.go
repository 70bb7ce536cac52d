package stats

import (
	"math"
	"slices"
)

// Trend returns the Theil–Sen estimate of the slope of y over x: the median of the slopes of all pairs of points. It
// tolerates up to 29 % of outliers. low is a lower bound of the slope with a confidence of 97.5 %, if the points are
// independent. All x must be different. For fewer than two points the slope is NaN.
//
// See Sen, Estimates of the regression coefficient based on Kendall's tau, 1968.
func Trend(x, y []float64) (slope, low float64) {
	n := len(x)
	slopes := make([]float64, 0, n*max(n-1, 0)/2)
	for i := range x {
		for j := range i {
			slopes = append(slopes, (y[i]-y[j])/(x[i]-x[j]))
		}
	}
	slices.Sort(slopes)
	if len(slopes) == 0 {
		return math.NaN(), math.NaN()
	}
	const z = 1.96
	m := float64(n)
	below := (float64(len(slopes)) - z*math.Sqrt(m*(m-1)*(2*m+5)/18)) / 2
	return quantile(slopes, 0.5), slopes[max(int(below), 0)]
}
