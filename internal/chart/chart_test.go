package chart

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func number(v float64) string { return fmt.Sprint(v) }

// Each power of a logarithmic axis has the same width, and points are inside of the frame.
func TestPlaces(t *testing.T) {
	s := Series{Name: "a <b>"}
	for e := 0.0; e <= 5; e += 0.25 {
		s.Points = append(s.Points, Point{math.Pow(10, e), 1000 * (e + 1)})
	}
	c := &Chart{
		Title: "it", X: Axis{Log: true, Name: number, Low: 1, High: 1e5, Ticks: []Tick{{1, "one"}}},
		Y: Axis{Log: true, Name: number}, Series: []Series{s},
	}
	text := string(c.Figure())
	if !strings.Contains(text, "a &lt;b&gt;") || strings.Contains(text, "NaN") {
		t.Errorf("%s", text)
	}
	if d1, d2 := c.placeX(100)-c.placeX(10), c.placeX(1000)-c.placeX(100); math.Abs(d1-d2) > 0.1 {
		t.Errorf("from 10 to 100 it is %.2f, and from 100 to 1000 %.2f", d1, d2)
	}
	for _, p := range s.Points {
		if x, y := c.placeX(p.X), c.placeY(p.Y); x < left-0.1 || x > chartWidth-right+0.1 || y < top-0.1 ||
			y > chartHeight-bottom+0.1 {
			t.Errorf("%v lies at %.1f, %.1f", p, x, y)
		}
	}
}

func TestLinearTicks(t *testing.T) {
	for _, high := range []float64{0.3, 1, 7, 99, 100, 123456} {
		a := Axis{Name: number}
		a.fitLinear(high)
		if n := len(a.Ticks); n < 3 || n > 12 || a.High < high || a.High > 2*high {
			t.Errorf("up to %v there are %d ticks, to %v", high, n, a.High)
		}
	}
}

// A chart without points is no figure.
func TestEmpty(t *testing.T) {
	if text := (&Chart{Title: "none", Series: []Series{{Name: "a"}}}).Figure(); text != "" {
		t.Errorf("%s", text)
	}
}
