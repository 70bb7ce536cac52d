package chart

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

// Style is the style sheet of pages with charts.
//
//go:embed style.css
var Style template.CSS

// Chart is a line chart as SVG. [Style] defines its classes.
type Chart struct {
	Title  string
	Narrow bool
	X, Y   Axis
	Series []Series
	Shades []Shade
}

// Shade is a marked range of the x axis.
type Shade struct {
	Name     string
	From, To float64
}

// Axis maps values to places. A logarithmic axis has no 0.
type Axis struct {
	Label string
	Log   bool
	Tight bool // it ends at the largest value, not at a tick
	Low   float64
	High  float64
	Ticks []Tick // none: they follow from the values
	Name  func(float64) string
}

// Tick is a labelled value of an axis.
type Tick struct {
	At   float64
	Text string
}

// Series is a line.
type Series struct {
	Name   string
	Color  int  // index of the palette
	Dashed bool // a second kind of figure of the same result
	Area   bool // the area below the line is filled
	Points []Point
}

// Point is a point of a line.
type Point struct{ X, Y float64 }

// Sizes and margins, in units of the viewBox.
const (
	chartWidth, chartHeight = 760.0, 300.0
	narrowWidth             = 440.0 // of charts that are side by side
	left, right             = 66.0, 26.0
	top, bottom             = 12.0, 44.0
)

func (c *Chart) width() float64 {
	if c.Narrow {
		return narrowWidth
	}
	return chartWidth
}

// Figure draws the chart. A wide chart is also drawn for narrow screens. An empty chart is an empty string.
func (c *Chart) Figure() template.HTML {
	c.fit()
	if c.Y.High <= c.Y.Low || c.X.High <= c.X.Low {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<figure><figcaption>%s</figcaption>`, html.EscapeString(c.Title))
	if c.Narrow {
		c.svg(&b, "")
	} else {
		c.svg(&b, "wide")
		small := *c
		small.Narrow = true
		small.svg(&b, "slim")
	}
	b.WriteString(`<div class="legend">`)
	for _, s := range c.Series {
		fmt.Fprintf(&b, `<span><svg viewBox="0 0 28 8"><line class="%s" x1="0" x2="28" y1="4" y2="4"/></svg>%s</span>`,
			s.class(), html.EscapeString(s.Name))
	}
	b.WriteString(`</div></figure>`)
	return template.HTML(b.String()) // all text in it is escaped
}

// svg draws the axes, the labels and the lines.
func (c *Chart) svg(b *strings.Builder, class string) {
	fmt.Fprintf(b, `<svg class="%s" viewBox="0 0 %g %g" role="img" aria-label="%s">`, class, c.width(), chartHeight,
		html.EscapeString(c.Title))
	for _, s := range c.Shades {
		from, to := c.placeX(max(s.From, c.X.Low)), c.placeX(min(s.To, c.X.High))
		fmt.Fprintf(b, `<rect class="phase" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, from, top, max(to-from, 0),
			chartHeight-top-bottom)
		if to-from > 45 {
			fmt.Fprintf(b, `<text class="phasename" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, (from+to)/2, top+12,
				html.EscapeString(s.Name))
		}
	}
	for _, t := range c.Y.Ticks {
		y := c.placeY(t.At)
		fmt.Fprintf(b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, left, c.width()-right, y, y)
		fmt.Fprintf(b, `<text class="tick" x="%.1f" y="%.1f" text-anchor="end">%s</text>`, left-8, y+4,
			html.EscapeString(t.Text))
	}
	for _, t := range c.X.Ticks {
		x := c.placeX(t.At)
		fmt.Fprintf(b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, x, x, top, chartHeight-bottom)
		fmt.Fprintf(b, `<text class="tick" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x, chartHeight-bottom+16,
			html.EscapeString(t.Text))
	}
	fmt.Fprintf(b, `<text class="axis" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, (left+c.width()-right)/2,
		chartHeight-8, html.EscapeString(c.X.Label))
	for _, s := range c.Series {
		c.line(b, s)
	}
	b.WriteString(`</svg>`)
}

// maxDots is the largest number of points of a line that are drawn as dots.
const maxDots = 60

// palette is the number of colours of the style.
const palette = 6

func (s *Series) class() string {
	class := fmt.Sprintf("line c%d", s.Color%palette)
	if s.Dashed {
		class += " dashed"
	}
	return class
}

func (c *Chart) line(b *strings.Builder, s Series) {
	var at []string
	for _, p := range s.Points {
		if c.Y.Log && p.Y <= 0 {
			continue
		}
		at = append(at, fmt.Sprintf("%.1f,%.1f", c.placeX(p.X), c.placeY(p.Y)))
	}
	if s.Area && len(at) > 1 {
		first, last := strings.SplitN(at[0], ",", 2)[0], strings.SplitN(at[len(at)-1], ",", 2)[0]
		fmt.Fprintf(b, `<polygon class="area c%d" points="%s,%.1f %s %s,%.1f"/>`, s.Color%palette, first, chartHeight-bottom,
			strings.Join(at, " "), last, chartHeight-bottom)
	}
	fmt.Fprintf(b, `<polyline class="%s" points="%s"><title>%s</title></polyline>`, s.class(), strings.Join(at, " "),
		html.EscapeString(s.Name))
	if len(s.Points) > maxDots {
		return
	}
	for _, p := range s.Points {
		if c.Y.Log && p.Y <= 0 {
			continue
		}
		fmt.Fprintf(b, `<circle class="dot c%d" cx="%.1f" cy="%.1f" r="3"><title>%s: %s</title></circle>`, s.Color%palette,
			c.placeX(p.X), c.placeY(p.Y), html.EscapeString(s.Name), html.EscapeString(c.Y.Name(p.Y)))
	}
}

func (a *Axis) scale(v float64) float64 {
	if a.Log {
		return math.Log10(v)
	}
	return v
}

// share returns the place of a value between the ends of the axis, from 0 to 1.
func (a *Axis) share(v float64) float64 {
	return (a.scale(v) - a.scale(a.Low)) / (a.scale(a.High) - a.scale(a.Low))
}

func (c *Chart) placeX(v float64) float64 { return left + c.X.share(v)*(c.width()-left-right) }
func (c *Chart) placeY(v float64) float64 {
	return chartHeight - bottom - c.Y.share(v)*(chartHeight-top-bottom)
}

// fit computes the ends and ticks of the axes.
func (c *Chart) fit() {
	xs, ys := []float64{}, []float64{}
	for _, s := range c.Series {
		for _, p := range s.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
		}
	}
	c.X.fit(xs)
	c.Y.fit(ys)
}

func (a *Axis) fit(values []float64) {
	if len(a.Ticks) > 0 {
		return
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if a.Log && v <= 0 {
			continue
		}
		low, high = min(low, v), max(high, v)
	}
	if high < low {
		return
	}
	if a.Log {
		a.fitLog(low, high)
	} else {
		a.fitLinear(high)
	}
}

// fitLog sets ticks at powers of ten, and also at 2 and 5 times those if there are few.
func (a *Axis) fitLog(low, high float64) {
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	if last == first {
		last++
	}
	a.Low, a.High = math.Pow(10, first), math.Pow(10, last)
	factors := []float64{1}
	if last-first <= 3 {
		factors = []float64{1, 2, 5}
	}
	for e := first; e <= last; e++ {
		for _, f := range factors {
			if v := f * math.Pow(10, e); v <= a.High*1.0001 {
				a.Ticks = append(a.Ticks, Tick{v, round(a.Name(v))})
			}
		}
	}
}

// fitLinear sets about five round ticks between 0 and high.
func (a *Axis) fitLinear(high float64) {
	if high <= 0 {
		return
	}
	step := math.Pow(10, math.Floor(math.Log10(high/4)))
	for _, f := range []float64{1, 2, 2.5, 5, 10} {
		if f*step*5 >= high {
			step *= f
			break
		}
	}
	if a.Low, a.High = 0, math.Ceil(high/step-1e-9)*step; a.Tight {
		a.High = high
	}
	for v := 0.0; v <= a.High*1.0001; v += step {
		a.Ticks = append(a.Ticks, Tick{v, round(a.Name(v))})
	}
}

// round removes zeros at the end of a figure: the label of a tick is 50 ms, not 50.0 ms.
func round(figure string) string {
	number, unit, _ := strings.Cut(figure, " ")
	if strings.Contains(number, ".") {
		number = strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
	}
	return strings.TrimSpace(number + " " + unit)
}
