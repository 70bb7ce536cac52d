package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"github.com/reactord/reactord/bench/compare"
)

// The places of things in a chart of changes, in the units of the viewBox.
const (
	barHeight   = 30.0
	barsLeft    = 130.0 // room for the names
	barsRight   = 150.0 // room for the figures
	barsTop     = 8.0
	barsBottom  = 28.0
	widestShown = 2.0  // a change that is larger is cut off
	least       = 0.05 // what the axis shows at least, in both directions
)

// bars shows each change as a bar from nothing, with its interval as a whisker, in the colour of its verdict.
// Rows without a verdict, or of nothing but zeros, are left out; of none of them it is empty.
func bars(c *compare.Comparison) template.HTML {
	rows, low, high := []compare.Row{}, -least, least
	for _, r := range c.Rows {
		if r.Enough && !math.IsNaN(r.Change) && (r.Base.Max != 0 || r.Value.Max != 0) {
			rows = append(rows, r)
			low, high = min(low, r.Low, r.Change), max(high, r.High, r.Change)
		}
	}
	if len(rows) == 0 {
		return ""
	}
	b := barChart{low: max(low, -1), high: min(high, widestShown), several: several(rows)}
	height := barsTop + barHeight*float64(len(rows)) + barsBottom
	fmt.Fprintf(&b.out, `<figure><figcaption>Change against %s, with its 95 %% interval</figcaption><svg viewBox="0 0 %g %.0f" role="img" aria-label="changes">`,
		html.EscapeString(c.Base), chartWidth, height)
	b.axis(height - barsBottom)
	for i, r := range rows {
		b.row(barsTop+barHeight*float64(i), r)
	}
	b.out.WriteString(`</svg></figure>`)
	return template.HTML(b.out.String()) //nolint:gosec // all text in it is escaped
}

// several: more than one result is compared with the base, so that rows have to say which.
func several(rows []compare.Row) bool {
	for _, r := range rows {
		if r.Name != rows[0].Name {
			return true
		}
	}
	return false
}

// barChart is a chart of changes while it is drawn.
type barChart struct {
	out       strings.Builder
	low, high float64
	several   bool
}

// x is the place of a change, at the edge if it is beyond.
func (b *barChart) x(v float64) float64 {
	v = min(max(v, b.low), b.high)
	return barsLeft + (v-b.low)/(b.high-b.low)*(chartWidth-barsLeft-barsRight)
}

func (b *barChart) axis(bottom float64) {
	step := math.Pow(10, math.Floor(math.Log10(b.high-b.low)))
	for _, f := range []float64{0.1, 0.2, 0.25, 0.5, 1} {
		if (b.high-b.low)/(f*step) <= 7 {
			step *= f
			break
		}
	}
	for v := math.Ceil(b.low/step) * step; v <= b.high+step/1e6; v += step {
		class := "grid"
		text := fmt.Sprintf("%+.3g %%", 100*v)
		if math.Abs(v) < step/2 {
			v, class, text = 0, "zero", "0"
		}
		fmt.Fprintf(&b.out, `<line class="%s" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/><text class="tick" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`,
			class, b.x(v), b.x(v), barsTop, bottom, b.x(v), bottom+18, text)
	}
}

func (b *barChart) row(y float64, r compare.Row) {
	class := verdictClass(r)
	name := r.Metric
	if b.several {
		name = r.Name + ", " + name
	}
	middle := y + barHeight/2
	from, to := b.x(min(0, r.Change)), b.x(max(0, r.Change))
	fmt.Fprintf(&b.out, `<g class="%s"><title>%s: %s (%s), %s</title>`, class, html.EscapeString(name), r.ChangeText(), r.IntervalText(), html.EscapeString(r.Verdict()))
	fmt.Fprintf(&b.out, `<text class="name" x="%.1f" y="%.1f" text-anchor="end">%s</text>`, barsLeft-14, middle+4, html.EscapeString(name))
	fmt.Fprintf(&b.out, `<rect class="bar" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="3"/>`, from, y+8, max(to-from, 1), barHeight-16)
	fmt.Fprintf(&b.out, `<path class="whisker" d="M%.1f %.1fH%.1fM%.1f %.1fv10M%.1f %.1fv10"/>`,
		b.x(r.Low), middle, b.x(r.High), b.x(r.Low), middle-5, b.x(r.High), middle-5)
	fmt.Fprintf(&b.out, `<text class="figure" x="%.1f" y="%.1f">%s</text></g>`, chartWidth-barsRight+14, middle+4, html.EscapeString(r.ChangeText()+"  "+r.Verdict()))
}

// verdictClass is a verdict as a class of the page's style.
func verdictClass(r compare.Row) string {
	switch {
	case !r.Differs:
		return "same"
	case r.Better():
		return "better"
	}
	return "worse"
}
