package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTrend(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	line := func(f func(i int) float64) (slope, low float64) {
		var x, y []float64
		for i := range 60 {
			x, y = append(x, float64(i)/2), append(y, f(i))
		}
		return Trend(x, y)
	}
	for _, test := range []struct {
		name  string
		f     func(i int) float64
		slope float64 // within 10 %, or within 0.1
		grows bool
	}{
		{"flat", func(int) float64 { return 5 }, 0, false},
		{"a line", func(i int) float64 { return 3 * float64(i) / 2 }, 3, true},
		{"noise", func(int) float64 { return r.Float64() }, 0, false},
		{"a line with noise", func(i int) float64 { return float64(i) + 10*r.NormFloat64() }, 2, true},
		{"falling", func(i int) float64 { return -float64(i) }, -2, false},
		{"a line with outliers", func(i int) float64 {
			if i%5 == 0 {
				return 1e6
			}
			return float64(i)
		}, 2, true},
		{"stairs", func(i int) float64 { return float64(i / 10 * 10) }, 2, true},
		{"saw teeth", func(i int) float64 { return float64(i % 7) }, 0, false},
	} {
		slope, low := line(test.f)
		if math.Abs(slope-test.slope) > max(0.2*math.Abs(test.slope), 0.1) || low > slope || (low > 0) != test.grows {
			t.Errorf("%s: %v, at least %v", test.name, slope, low)
		}
	}
	if slope, _ := Trend([]float64{1}, []float64{1}); !math.IsNaN(slope) {
		t.Errorf("one point has a slope of %v", slope)
	}
}
