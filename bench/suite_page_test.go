package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/bench/machine"
)

// shown is the page of a report with two peers, one that failed and one that is missing.
func shown(t *testing.T) string {
	t.Helper()
	rep := twoPeers(claim{"a", "b", 0.5}, claim{"b", "a", 1})
	rep.Machine.Machine = machine.Machine{Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Kernel: "6.0-test", CPU: "A <CPU>", CPUs: 2, Go: "go1", Revision: "abc", Congestion: "reno"}
	rep.addPeer("a", "v1.2.3", nil)
	rep.addPeer("gone", "", errors.New("no <compiler>"))
	page, err := rep.page()
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func TestPageSaysEverything(t *testing.T) {
	page := shown(t)
	for _, want := range []string{
		"2026-01-02", "Linux 6.0-test", "A &lt;CPU&gt;", "reno", "abc", "<dd>v1.2.3</dd>",
		`<dt>gone</dt><dd><span class="missing">missing</span> no &lt;compiler&gt;`,
		"<h2>Title</h2>", "2.50 (2.00–3.00)", "failed: it broke|badly", `class="met">met<`, `class="unmet">not met<`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	// Nothing is loaded from elsewhere.
	if found := regexp.MustCompile(`(?i)<(script|link|img)|src=|href=|url\(|@import`).FindString(page); found != "" {
		t.Errorf("the page has %q", found)
	}
}

// A browser reads the drawing as XML: it must be well formed, and say of each peer that was measured how long
// its bar is.
func TestPageDrawing(t *testing.T) {
	page := shown(t)
	drawing := page[strings.Index(page, "<svg") : strings.Index(page, "</svg>")+len("</svg>")]
	lengths := []string{}
	for d := xml.NewDecoder(strings.NewReader(drawing)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			for _, a := range e.Attr {
				if a.Name.Local == "width" {
					lengths = append(lengths, a.Value)
				}
			}
		}
	}
	// 0 to 6 is 520 wide: medians of 2.5 and 5.
	if len(lengths) != 2 || lengths[0] != "216.7" || lengths[1] != "433.3" {
		t.Errorf("the bars are %q long", lengths)
	}
}

func TestTickSteps(t *testing.T) {
	for _, test := range []struct{ most, step float64 }{{0, 0}, {math.Inf(1), 0}, {6, 1}, {8, 1}, {9, 2}, {0.7, 0.1}, {1234, 200}, {4, 1}} {
		if got := tickStep(test.most); math.Abs(got-test.step) > 1e-9 {
			t.Errorf("up to %v it is %v, want %v", test.most, got, test.step)
		}
	}
}
