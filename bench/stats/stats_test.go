package stats

import (
	"math"
	"testing"
)

func TestOf(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		name   string
		values []float64
		want   Summary
	}{
		{"one", []float64{7}, Summary{1, 7, 7, 7, 7, 7}},
		{"odd", []float64{5, 1, 3}, Summary{3, 3, 1, 5, 2, 4}},
		{"even", []float64{4, 1, 3, 2}, Summary{4, 2.5, 1, 4, 1.75, 3.25}},
		{"gaps", []float64{nan, 2, nan, 4}, Summary{2, 3, 2, 4, 2.5, 3.5}},
	} {
		if got := Of(test.values); got != test.want {
			t.Errorf("%s: Of(%v) = %+v, want %+v", test.name, test.values, got, test.want)
		}
	}
}

func TestOfLeavesTheValuesAlone(t *testing.T) {
	values := []float64{3, math.NaN(), 1}
	Of(values)
	if values[0] != 3 || !math.IsNaN(values[1]) || values[2] != 1 {
		t.Errorf("Of changed its argument to %v", values)
	}
}

func TestOfNothing(t *testing.T) {
	s := Of([]float64{math.NaN()})
	if s.N != 0 || !math.IsNaN(s.Median) || !math.IsNaN(s.Min) || !math.IsNaN(s.Max) {
		t.Errorf("Of nothing = %+v", s)
	}
	if s.Format(2) != "–" {
		t.Errorf("nothing is printed as %q", s.Format(2))
	}
}

func TestRatiosStayWithinTheirRound(t *testing.T) {
	got := Ratios([]float64{2, 9, math.NaN(), 4}, []float64{1, 3, 5})
	want := []float64{2, 3, math.NaN(), math.NaN()}
	for i := range want {
		if got[i] != want[i] && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
			t.Errorf("round %d: ratio %v, want %v", i, got[i], want[i])
		}
	}
	if r := Ratios([]float64{1}, []float64{0}); !math.IsNaN(r[0]) {
		t.Errorf("a ratio to zero is %v", r[0])
	}
	if r := Ratios(nil, []float64{1, 2}); Of(r).N != 0 {
		t.Errorf("ratios of nothing are %v", r)
	}
}

func TestFormat(t *testing.T) {
	if got, want := Of([]float64{1, 2.25, 3}).Format(1), "2.2 (1.0–3.0)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
