package laboratory

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/laboratory/simulation"
	"github.com/reactord/reactord/internal/chart"
)

//go:embed page.html
var pageText string

// Honesty says what a simulation is, on every page and behind every table.
const Honesty = "A simulation is no proof. Simulated are the decisions of the proxy, its loops and its sockets. " +
	"Clients and servers are models; cryptography, datagrams, unix sockets, the queues of the network and the speed of " +
	"machines are not simulated."

// Page makes a report one HTML page, which refers to nothing else.
type Page struct {
	Title    string
	Subtitle string
	Rows     []WhatIf
	Findings []string
	runs     []pageRun
}

// pageRun shows a run on the page.
type pageRun struct {
	*simulation.Result
	Name   string
	Charts []template.HTML
}

// Add adds a run under a name.
func (p *Page) Add(name string, r *simulation.Result) {
	p.runs = append(p.runs, pageRun{r, name, charts(r)})
}

// Write writes the page.
func (p *Page) Write(w io.Writer) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	return t.Execute(w, struct {
		*Page
		Style   template.CSS
		Honesty string
		Runs    []pageRun
	}{p, chart.Style, Honesty, p.runs})
}

// FailFor says for how long clients fail, for people.
func (w *WhatIf) FailFor() string {
	switch {
	case !w.Ends:
		return "for ever"
	case w.Recovery == 0:
		return "-"
	}
	return shorten(w.Recovery).String()
}

// charts draws a run over time.
func charts(r *simulation.Result) (all []template.HTML) {
	figure := func(title string, series ...chart.Series) {
		c := &chart.Chart{
			Title: title, Narrow: len(all) > 0, Series: series,
			X: chart.Axis{Label: "seconds", Tight: true, Name: figureOf}, Y: chart.Axis{Name: figureOf},
		}
		for i := range r.Marks {
			if m := &r.Marks[i]; m.Event {
				at := m.At.Seconds()
				c.Shades = append(c.Shades, chart.Shade{Name: m.Text, From: at, To: at + r.Duration.Seconds()/300})
			}
		}
		if drawn := c.Figure(); drawn != "" {
			all = append(all, drawn)
		}
	}
	line := func(name string, color int, of func(*simulation.Sample) float64) chart.Series {
		s := chart.Series{Name: name, Color: color}
		for i := range r.Samples {
			s.Points = append(s.Points, chart.Point{X: r.Samples[i].At.Seconds(), Y: of(&r.Samples[i])})
		}
		return s
	}
	figure("Connections", line("open", 0, func(s *simulation.Sample) float64 { return float64(s.Connections) }),
		line("waiting for a server", 1, func(s *simulation.Sample) float64 { return float64(s.Queued) }))
	const most = 6 // colours
	var servers []chart.Series
	for i := range min(len(r.Names), most) {
		servers = append(servers, line(r.Names[i], i, func(s *simulation.Sample) float64 {
			if i < len(s.Servers) {
				return float64(s.Servers[i])
			}
			return 0
		}))
	}
	figure("Connections of servers", servers...)
	figure("Clients a second", rates(r, "answered", 2, func(s *simulation.Sample) int { return s.Answered }),
		rates(r, "failed", 1, func(s *simulation.Sample) int { return s.Failed }))
	return all
}

// rates returns how much a count grows in a second.
func rates(r *simulation.Result, name string, color int, of func(*simulation.Sample) int) chart.Series {
	s := chart.Series{Name: name, Color: color, Area: color == 1}
	step := max(len(r.Samples)/60, 1)
	for i := step; i < len(r.Samples); i += step {
		a, b := &r.Samples[i-step], &r.Samples[i]
		if took := (b.At - a.At).Seconds(); took > 0 {
			s.Points = append(s.Points, chart.Point{X: b.At.Seconds(), Y: float64(of(b)-of(a)) / took})
		}
	}
	return s
}

func figureOf(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// Timeline draws a run for a terminal: a line for each thing, with a character for each part of the time.
func Timeline(w io.Writer, r *simulation.Result, columns int) {
	if len(r.Samples) == 0 || columns < 1 {
		return
	}
	draw := func(name string, of func(a, b *simulation.Sample) float64) {
		values, highest := make([]float64, columns), 0.0
		for i := range r.Samples[1:] {
			a, b := &r.Samples[i], &r.Samples[i+1]
			at := min(int(float64(columns)*b.At.Seconds()/max(r.Samples[len(r.Samples)-1].At.Seconds(), 1e-9)), columns-1)
			values[at] = max(values[at], of(a, b))
			highest = max(highest, values[at])
		}
		text := make([]rune, columns)
		for i, v := range values {
			text[i] = []rune(" ▁▂▃▄▅▆▇█")[min(int(8*v/max(highest, 1e-9)+0.999), 8)]
		}
		fmt.Fprintf(w, "%-20s %s up to %s\n", name, string(text), figureOf(highest))
	}
	draw("connections", func(_, b *simulation.Sample) float64 { return float64(b.Connections) })
	draw("waiting", func(_, b *simulation.Sample) float64 { return float64(b.Queued) })
	draw("answered/s", func(a, b *simulation.Sample) float64 { return perSecond(b.Answered-a.Answered, b.At-a.At) })
	draw("failed/s", func(a, b *simulation.Sample) float64 { return perSecond(b.Failed-a.Failed, b.At-a.At) })
}

func perSecond(n int, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}
