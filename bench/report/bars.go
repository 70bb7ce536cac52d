package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"github.com/reactord/reactord/bench/compare"
)

// Bar is a row of a chart: a figure as a bar, with an interval at its end.
type Bar struct {
	Name             string
	Text             string // the figure, or why it is missing
	Class            string // of the page's style: better, worse, same, own or other
	Value, Low, High float64
	Missing          bool // there is no figure
}

// The size of the drawing of a row, which is stretched to the width of the page.
const barsWidth, barsHeight = 1000.0, 24.0

// Bars draws rows below each other, from 0 and with the same scale. Without rows the result is empty. Names and figures
// are text next to the drawings, so that they are readable on every width of the page.
func Bars(title string, bars []Bar) template.HTML {
	if len(bars) == 0 {
		return ""
	}
	low, high := 0.0, 0.0
	for _, b := range bars {
		if !b.Missing {
			low, high = min(low, b.Value, b.Low), max(high, b.Value, b.High)
		}
	}
	scale := barsWidth / max(high-low, 1e-9)
	var out strings.Builder
	fmt.Fprintf(&out, `<figure><figcaption>%s</figcaption><div class="bars">`, html.EscapeString(title))
	for _, b := range bars {
		fmt.Fprintf(&out, `<div class="%s"><span class="name">%s</span>`, b.Class, html.EscapeString(b.Name))
		if b.Missing {
			fmt.Fprintf(&out, `<span class="missing">%s</span></div>`, html.EscapeString(b.Text))
			continue
		}
		x := func(v float64) float64 { return (v - low) * scale }
		from, to := x(min(b.Value, 0)), x(max(b.Value, 0))
		fmt.Fprintf(&out, `<span class="figure">%s</span><svg viewBox="0 0 %g %g" preserveAspectRatio="none" role="img" aria-label="%s: %s">`,
			html.EscapeString(b.Text), barsWidth, barsHeight, html.EscapeString(b.Name), html.EscapeString(b.Text))
		fmt.Fprintf(&out, `<rect class="bar" x="%.1f" y="4" width="%.1f" height="%g"/><path class="zero" d="M%.1f 0v%g"/>`,
			from, max(to-from, 1), barsHeight-8, x(0), barsHeight)
		fmt.Fprintf(&out, `<path class="whisker" d="M%.1f %gH%.1fM%.1f 7v%gM%.1f 7v%g"/></svg></div>`, x(b.Low), barsHeight/2,
			x(b.High), x(b.Low), barsHeight-14, x(b.High), barsHeight-14)
	}
	out.WriteString(`</div></figure>`)
	return template.HTML(out.String()) // all text in it is escaped
}

// widest is the largest relative change that is drawn. A larger one is cut off.
const widest = 2.0

// changes returns the bars of a comparison, in the colours of the verdicts. Rows without a verdict, or with zeros only,
// are left out.
func changes(c *compare.Comparison) template.HTML {
	var bars []Bar
	for _, r := range c.Rows {
		if !r.Enough || math.IsNaN(r.Change) || r.Base.Max == 0 && r.Value.Max == 0 {
			continue
		}
		b := Bar{Name: r.Metric, Text: r.ChangeText() + ", " + r.Verdict(), Class: verdictClass(r),
			Value: min(r.Change, widest), Low: min(r.Low, widest), High: min(r.High, widest)}
		if c.Several() {
			b.Name += ", " + r.Name
		}
		bars = append(bars, b)
	}
	return Bars("Change against "+c.Base+", with its 95 % interval", bars)
}

// verdictClass returns the class of a verdict in the page's style.
func verdictClass(r compare.Row) string {
	switch {
	case !r.Differs:
		return "same"
	case r.Better():
		return "better"
	}
	return "worse"
}
