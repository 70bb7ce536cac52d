package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/reactord/reactord/bench/stats"
)

//go:embed suite_page.html
var suitePageText string

var suitePage = template.Must(template.New("suite").Parse(suitePageText))

// page is the report as one HTML page, which needs no other file.
func (r *suiteReport) page() ([]byte, error) {
	p := struct {
		*suiteReport

		Method string
		Claims [][]string
		Charts []barChart
	}{suiteReport: r, Method: r.method(), Claims: r.claims()}
	for _, c := range r.Cases {
		p.Charts = append(p.Charts, c.chart())
	}
	var b bytes.Buffer
	err := suitePage.Execute(&b, p)
	return b.Bytes(), err
}

// barChart is a case drawn: a bar a peer, from 0 to the median, and across its end the spread from the
// least to the largest. Lengths are in units of the SVG's viewBox.
type barChart struct {
	Title, Unit string
	Width       float64
	Height      float64
	Zero        float64 // where bars begin
	Bars        []bar
	Ticks       []barTick
	Table       [][]string
}

type bar struct {
	Name     string
	Text     string // the figures, or why there are none
	Own      bool   // a peer of this project
	Measured bool

	Y               float64 // the middle
	Length          float64 // of the bar
	Low, High, Said float64 // ends of the spread, and where the text begins
}

type barTick struct {
	X    float64
	Text string
}

const (
	barWidth  = 860.0
	barZero   = 190.0 // names are to the left
	barRoom   = 150.0 // for the text to the right
	barHeight = 26.0
	barTop    = 8.0
	barBottom = 40.0 // ticks and the unit
)

// chart places the bars of a case. Peers that failed have a line that says so.
func (c *caseReport) chart() barChart {
	chart := barChart{Title: c.Title, Unit: c.unit(), Width: barWidth, Zero: barZero, Table: c.table(),
		Height: barTop + barHeight*float64(len(c.Peers)) + barBottom}
	most := 0.0
	for _, p := range c.Peers {
		if s := stats.Of(p.Figures); s.N > 0 && p.Failed == "" {
			most = max(most, s.Max)
		}
	}
	step := tickStep(most)
	scale := 0.0
	if step > 0 {
		end := step * math.Ceil(most/step-1e-9)
		scale = (barWidth - barZero - barRoom) / end
		for v := 0.0; v <= end+step/2; v += step {
			chart.Ticks = append(chart.Ticks, barTick{barZero + v*scale, fmt.Sprintf("%.4g", v)})
		}
	}
	for i, p := range c.Peers {
		b := bar{Name: p.Name, Own: strings.HasPrefix(p.Name, "reactor"), Y: barTop + barHeight*(float64(i)+0.5)}
		s := stats.Of(p.Figures)
		switch {
		case p.Failed != "":
			b.Text, b.Said = "failed: "+p.Failed, barZero+6
		case s.N == 0:
			b.Text, b.Said = "not measured", barZero+6
		default:
			b.Measured, b.Text, b.Length = true, s.Format(2), max(0, s.Median*scale)
			b.Low, b.High = barZero+max(0, s.Min*scale), barZero+max(0, s.Max*scale)
			b.Said = b.High + 8
		}
		chart.Bars = append(chart.Bars, b)
	}
	return chart
}

// The lines that texts stand on, and where bars and the grid end.

func (c barChart) Bottom() float64   { return c.Height - barBottom + 4 }
func (c barChart) TickLine() float64 { return c.Height - barBottom + 17 }
func (c barChart) UnitLine() float64 { return c.Height - 6 }
func (c barChart) NamesEnd() float64 { return c.Zero - 10 }

func (b bar) TextLine() float64 { return b.Y + 4.5 }
func (b bar) Top() float64      { return b.Y - b.Thick()/2 }
func (b bar) Thick() float64    { return barHeight - 10 }

// Whisker is the spread as a path: a line with a stroke at each end.
func (b bar) Whisker() string {
	return fmt.Sprintf("M%.1f %.1fv8M%.1f %.1fv8M%.1f %.1fH%.1f", b.Low, b.Y-4, b.High, b.Y-4, b.Low, b.Y, b.High)
}

// tickStep divides 0 to most into four to eight round steps; it is 0 if there is nothing to divide.
func tickStep(most float64) float64 {
	if most <= 0 || math.IsInf(most, 0) {
		return 0
	}
	step := math.Pow(10, math.Floor(math.Log10(most/4)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if most/(step*factor) <= 8 {
			return step * factor
		}
	}
	return step * 10
}
