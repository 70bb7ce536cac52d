package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"
)

// chart is a line chart as SVG. The page's style defines its classes.
type chart struct {
	title  string
	narrow bool
	x, y   axis
	series []series
	shades []shade
}

// shade is a marked range of the x axis.
type shade struct {
	name     string
	from, to float64
}

// axis maps values to places. A logarithmic axis has no 0.
type axis struct {
	label string
	log   bool
	tight bool // it ends at the largest value, not at a tick
	low   float64
	high  float64
	ticks []tick
	name  func(float64) string
}

type tick struct {
	at   float64
	text string
}

type series struct {
	name   string
	color  int  // index of the palette
	dashed bool // a second kind of figure of the same result
	area   bool // the area below the line is filled
	points []point
}

type point struct{ x, y float64 }

// Sizes and margins, in units of the viewBox.
const (
	chartWidth, chartHeight = 760.0, 300.0
	narrowWidth             = 440.0 // of charts that are side by side
	left, right             = 66.0, 26.0
	top, bottom             = 12.0, 44.0
)

func (c *chart) width() float64 {
	if c.narrow {
		return narrowWidth
	}
	return chartWidth
}

// figure draws the chart. A wide chart is also drawn for narrow screens. An empty chart is an empty string.
func (c *chart) figure() template.HTML {
	c.fit()
	if c.y.high <= c.y.low || c.x.high <= c.x.low {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<figure><figcaption>%s</figcaption>`, html.EscapeString(c.title))
	if c.narrow {
		c.svg(&b, "")
	} else {
		c.svg(&b, "wide")
		small := *c
		small.narrow = true
		small.svg(&b, "slim")
	}
	b.WriteString(`<div class="legend">`)
	for _, s := range c.series {
		fmt.Fprintf(&b, `<span><svg viewBox="0 0 28 8"><line class="%s" x1="0" x2="28" y1="4" y2="4"/></svg>%s</span>`,
			s.class(), html.EscapeString(s.name))
	}
	b.WriteString(`</div></figure>`)
	return template.HTML(b.String()) // all text in it is escaped
}

// svg draws the axes, the labels and the lines.
func (c *chart) svg(b *strings.Builder, class string) {
	fmt.Fprintf(b, `<svg class="%s" viewBox="0 0 %g %g" role="img" aria-label="%s">`, class, c.width(), chartHeight,
		html.EscapeString(c.title))
	for _, s := range c.shades {
		from, to := c.placeX(max(s.from, c.x.low)), c.placeX(min(s.to, c.x.high))
		fmt.Fprintf(b, `<rect class="phase" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, from, top, max(to-from, 0),
			chartHeight-top-bottom)
		if to-from > 45 {
			fmt.Fprintf(b, `<text class="phasename" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, (from+to)/2, top+12,
				html.EscapeString(s.name))
		}
	}
	for _, t := range c.y.ticks {
		y := c.placeY(t.at)
		fmt.Fprintf(b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, left, c.width()-right, y, y)
		fmt.Fprintf(b, `<text class="tick" x="%.1f" y="%.1f" text-anchor="end">%s</text>`, left-8, y+4,
			html.EscapeString(t.text))
	}
	for _, t := range c.x.ticks {
		x := c.placeX(t.at)
		fmt.Fprintf(b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, x, x, top, chartHeight-bottom)
		fmt.Fprintf(b, `<text class="tick" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x, chartHeight-bottom+16,
			html.EscapeString(t.text))
	}
	fmt.Fprintf(b, `<text class="axis" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, (left+c.width()-right)/2,
		chartHeight-8, html.EscapeString(c.x.label))
	for _, s := range c.series {
		c.line(b, s)
	}
	b.WriteString(`</svg>`)
}

// maxDots is the largest number of points of a line that are drawn as dots.
const maxDots = 60

// palette is the number of colours of the style.
const palette = 6

func (s *series) class() string {
	class := fmt.Sprintf("line c%d", s.color%palette)
	if s.dashed {
		class += " dashed"
	}
	return class
}

func (c *chart) line(b *strings.Builder, s series) {
	var at []string
	for _, p := range s.points {
		if c.y.log && p.y <= 0 {
			continue
		}
		at = append(at, fmt.Sprintf("%.1f,%.1f", c.placeX(p.x), c.placeY(p.y)))
	}
	if s.area && len(at) > 1 {
		first, last := strings.SplitN(at[0], ",", 2)[0], strings.SplitN(at[len(at)-1], ",", 2)[0]
		fmt.Fprintf(b, `<polygon class="area c%d" points="%s,%.1f %s %s,%.1f"/>`, s.color%palette, first, chartHeight-bottom,
			strings.Join(at, " "), last, chartHeight-bottom)
	}
	fmt.Fprintf(b, `<polyline class="%s" points="%s"><title>%s</title></polyline>`, s.class(), strings.Join(at, " "),
		html.EscapeString(s.name))
	if len(s.points) > maxDots {
		return
	}
	for _, p := range s.points {
		if c.y.log && p.y <= 0 {
			continue
		}
		fmt.Fprintf(b, `<circle class="dot c%d" cx="%.1f" cy="%.1f" r="3"><title>%s: %s</title></circle>`, s.color%palette,
			c.placeX(p.x), c.placeY(p.y), html.EscapeString(s.name), html.EscapeString(c.y.name(p.y)))
	}
}

func (a *axis) scale(v float64) float64 {
	if a.log {
		return math.Log10(v)
	}
	return v
}

// share returns the place of a value between the ends of the axis, from 0 to 1.
func (a *axis) share(v float64) float64 {
	return (a.scale(v) - a.scale(a.low)) / (a.scale(a.high) - a.scale(a.low))
}

func (c *chart) placeX(v float64) float64 { return left + c.x.share(v)*(c.width()-left-right) }
func (c *chart) placeY(v float64) float64 {
	return chartHeight - bottom - c.y.share(v)*(chartHeight-top-bottom)
}

// fit computes the ends and ticks of the axes.
func (c *chart) fit() {
	xs, ys := []float64{}, []float64{}
	for _, s := range c.series {
		for _, p := range s.points {
			xs, ys = append(xs, p.x), append(ys, p.y)
		}
	}
	c.x.fit(xs)
	c.y.fit(ys)
}

func (a *axis) fit(values []float64) {
	if len(a.ticks) > 0 {
		return
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if a.log && v <= 0 {
			continue
		}
		low, high = min(low, v), max(high, v)
	}
	if high < low {
		return
	}
	if a.log {
		a.fitLog(low, high)
	} else {
		a.fitLinear(high)
	}
}

// fitLog sets ticks at powers of ten, and also at 2 and 5 times those if there are few.
func (a *axis) fitLog(low, high float64) {
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	if last == first {
		last++
	}
	a.low, a.high = math.Pow(10, first), math.Pow(10, last)
	factors := []float64{1}
	if last-first <= 3 {
		factors = []float64{1, 2, 5}
	}
	for e := first; e <= last; e++ {
		for _, f := range factors {
			if v := f * math.Pow(10, e); v <= a.high*1.0001 {
				a.ticks = append(a.ticks, tick{v, round(a.name(v))})
			}
		}
	}
}

// fitLinear sets about five round ticks between 0 and high.
func (a *axis) fitLinear(high float64) {
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
	if a.low, a.high = 0, math.Ceil(high/step-1e-9)*step; a.tight {
		a.high = high
	}
	for v := 0.0; v <= a.high*1.0001; v += step {
		a.ticks = append(a.ticks, tick{v, round(a.name(v))})
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
