package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/reactord/reactord/bench/compare"
	"github.com/reactord/reactord/bench/record"
)

// result returns a few seconds of a load. Its name must not be interpreted as HTML.
func result(name string, rate float64) *record.Result {
	r := &record.Result{Schema: record.Schema, Name: name, Mode: "rate", Target: "tcp://127.0.0.1:1", Connections: 3,
		Loops: 1, Ring: "io_uring", Warnings: []string{"it is <b>loud</b>"}}
	for range 5 {
		w := record.NewWindow()
		for i := range 10_000 {
			w.Latency.Record(int64(i*100) + 1000)
			w.Service.Record(int64(i*10) + 1000)
		}
		w.Messages, w.BytesOut, w.Errors[record.Reset] = 10_000, 1<<20, 2
		p := record.NewPoint(w)
		p.Seconds, p.Length, p.Kind = float64(len(r.Series)+1), 1, record.Measure
		r.Series = append(r.Series, p)
		r.Phases = append(r.Phases, record.Phase{Kind: record.Measure, Rate: rate, Elapsed: 1,
			Parts: []record.PhasePart{{Name: name, Window: w}}})
	}
	return r
}

// The page needs no other file, is well-formed XML, and escapes text.
func TestPage(t *testing.T) {
	a, b := result("a <script>", 10_000), result("b", 10_000)
	found, err := compare.Of([]compare.Group{{Name: "a", Results: []*record.Result{a}},
		{Name: "b", Results: []*record.Result{b}}}, compare.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Page(&out, []*record.Result{a, b}, found); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"a &lt;script&gt;", "it is &lt;b&gt;loud", "Latency by percentile",
		"Messages a second over time", "Latency over time", ">99.999<", "no difference", "service time"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"<script", "http://", "https://", "NaN", "Inf", "ZgotmplZ", "%!"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	lines := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "polyline" {
			lines++
		}
	}
	if lines != 2*4+4+2 { // latency and service, wide and narrow; rate and failures; p99
		t.Errorf("there are %d lines in the charts", lines)
	}
}

// A result without measured phases has no charts.
func TestPageOfNothing(t *testing.T) {
	var out bytes.Buffer
	if err := Page(&out, []*record.Result{{Name: "x", Failed: "refused"}}, nil); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, "<figure>") ||
		!strings.Contains(text, "Ended early: refused") {
		t.Errorf("%s", text)
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	if err := Table(&out, result("a", 10_000)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"10.0 k messages/s for 1.0 s (10.0 k/s planned)", "failures: 2 reset", "p99.99",
		"latency", "service time", "! it is <b>loud</b>"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &out)
		}
	}
}

func TestExporter(t *testing.T) {
	e, err := NewExporter("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	p := record.Point{Messages: 5, BytesOut: 70, Open: 3, P99: 2_000_000}
	p.Errors[record.Reset] = 2
	e.Add(p)
	e.Add(p)
	r, err := http.Get("http://" + e.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	for _, want := range []string{"reactord_bench_messages_total 10", `reactord_bench_bytes_total{direction="out"} 140`,
		"reactord_bench_connections 3",
		`reactord_bench_failures_total{kind="reset"} 4`, `reactord_bench_latency_seconds{quantile="0.99"} 0.002`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the metrics lack %q:\n%s", want, text)
		}
	}
}

// Each change has a bar in the colour of its verdict, and every bar is inside of the chart.
func TestBars(t *testing.T) {
	group := func(name string, samples int, factor float64) compare.Group {
		r := result(name, 0)
		r.Phases = r.Phases[:samples]
		for i := range r.Phases {
			r.Phases[i].Elapsed = factor * (1 + 0.001*float64(i))
		}
		return compare.Group{Name: name, Results: []*record.Result{r}}
	}
	for name, c := range map[string]struct {
		factor  float64 // of the time that the other took
		verdict string
	}{"better": {0.5, "better"}, "worse": {100, "worse"}, "same": {1, "same"}, "much": {0.01, "better"}} {
		found, err := compare.Of([]compare.Group{group("a", compare.Enough, 1), group("b", compare.Enough, c.factor)},
			[]string{"rate", "errors"})
		if err != nil {
			t.Fatal(err)
		}
		drawn := string(changes(found))
		if strings.Count(drawn, `class="bar"`) != 2 || !strings.Contains(drawn,
			`<div class="`+c.verdict+`"><span class="name">rate<`) {
			t.Errorf("%s: %s", name, drawn)
		}
	}
	few, err := compare.Of([]compare.Group{group("a", 2, 1), group("b", 2, 1)}, compare.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	if drawn := changes(few); drawn != "" {
		t.Errorf("of too few samples there is %s", drawn)
	}
}

// The drawings must be well-formed XML, and the length of a bar must be that of its figure.
func TestBarsAreAsLongAsTheirFigures(t *testing.T) {
	drawn := string(Bars("x", []Bar{{Name: "<a>", Text: "3", Class: "own", Value: 3, Low: 2, High: 4},
		{Name: "b", Value: -1, Low: -1, High: -1}, {Name: "c", Text: "<none>", Value: math.NaN(), Low: math.NaN(),
			High: math.NaN(), Missing: true}}))
	places := []string{}
	for d := xml.NewDecoder(strings.NewReader(drawn)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			for _, a := range e.Attr {
				if a.Name.Local == "x" || a.Name.Local == "width" {
					places = append(places, a.Value)
				}
			}
		}
	}
	// -1 to 4 is 1000 wide.
	if strings.Join(places, " ") != "200.0 600.0 0.0 200.0" || strings.Count(drawn, "&lt;none&gt;") != 1 {
		t.Errorf("the bars are %v: %s", places, drawn)
	}
	if drawn := Bars("x", []Bar{{Name: "a"}}); strings.Contains(string(drawn), "NaN") {
		t.Errorf("of nothing but 0 there is %s", drawn)
	}
}
