package engine

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestSizes(t *testing.T) {
	for _, test := range []struct {
		text      string
		low, high int
		mean      float64
	}{
		{"128", 128, 128, 128},
		{"4k", 4096, 4096, 4096},
		{"1m", 1 << 20, 1 << 20, 1 << 20},
		{"10-20", 10, 20, 15},
		{"100*3,200*1", 100, 200, 125},
		{"1-3*1,1k", 1, 1024, 513},
		{"exp(1000)", 1, 16000, 1000},
	} {
		s, err := ParseSizes(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		r := rand.NewPCG(3, 4)
		const n = 100_000
		sum := 0.0
		for range n {
			v := s.next(r)
			if v < test.low || v > test.high {
				t.Fatalf("%s: a size of %d", test.text, v)
			}
			sum += float64(v)
		}
		if got := sum / n; math.Abs(got-test.mean) > 0.02*test.mean || s.Max() != test.high || s.String() != test.text {
			t.Errorf("%s: mean %.1f, want %.1f; max %d, want %d", test.text, got, test.mean, s.Max(), test.high)
		}
	}
	for _, bad := range []string{"", "0", "-1", "x", "5-3", "1k-", "10*0", "10*-1", "10*x", "exp()", "exp(0)", "exp(99m)",
		"65m", "1,,2"} {
		if s, err := ParseSizes(bad); err == nil {
			t.Errorf("%q was taken for %v", bad, s)
		}
	}
}

// The bytes of the pattern depend on their place only.
func TestPattern(t *testing.T) {
	p := NewPattern(1, true, 3000)
	for _, at := range []int64{0, 1, longPeriod - 1500, longPeriod, 5*longPeriod + 7} {
		whole := p.At(at, 3000)
		for i := range whole {
			if whole[i] != p.At(at+int64(i), 1)[0] {
				t.Fatalf("byte %d from %d on differs", i, at)
			}
		}
	}
	if string(NewPattern(1, true, 1).At(0, 1)) == "" ||
		string(NewPattern(1, true, 64).At(0, 64)) == string(NewPattern(2, true, 64).At(0, 64)) {
		t.Error("patterns of different seeds are the same")
	}
}
