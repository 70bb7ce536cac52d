package main

import (
	"bytes"
	_ "embed"
	"html/template"
	"strings"

	"github.com/reactord/reactord/bench/report"
	"github.com/reactord/reactord/bench/stats"
)

//go:embed suite_page.html
var suitePageText string

var suitePage = template.Must(template.New("suite").Parse(suitePageText))

// page returns the report as a self-contained HTML page.
func (r *suiteReport) page() ([]byte, error) {
	p := struct {
		*suiteReport
		Style  template.CSS
		Method string
		Claims [][]string
	}{r, report.Style, r.method(), r.claims()}
	var b bytes.Buffer
	err := suitePage.Execute(&b, p)
	return b.Bytes(), err
}

// Bars draws the medians of the case and their spreads.
func (c *caseReport) Bars() template.HTML {
	var bars []report.Bar
	for _, p := range c.Peers {
		s := stats.Of(p.Figures)
		b := report.Bar{Name: p.Name, Text: s.Format(2), Class: "other", Value: s.Median, Low: s.Min, High: s.Max}
		if strings.HasPrefix(p.Name, "reactor") {
			b.Class = "own"
		}
		switch {
		case p.Failed != "":
			b.Text, b.Missing = "failed: "+p.Failed, true
		case s.N == 0:
			b.Text, b.Missing = "not measured", true
		}
		bars = append(bars, b)
	}
	return report.Bars(c.Method.Unit+": medians, and from the least to the largest; less is better", bars)
}

// Table returns all figures of the case.
func (c *caseReport) Table() [][]string { return c.table() }
