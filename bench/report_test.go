package main

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// twoPeers returns a report of two rounds. The figures of a are 2 and 3, and b's are twice as much.
func twoPeers(claims ...claim) *suiteReport {
	samples := []*sample{{Result: &result{Messages: 10, Elapsed: 1e9, ServerCPU: 5e8, LoadCPU: 1e9}}}
	return &suiteReport{Cases: []*caseReport{{
		benchCase: &benchCase{Name: "case", Title: "Title", Method: messageTime, Refs: []string{"b"}, Claims: claims},
		Peers: []*peerReport{
			{Name: "a", Figures: []float64{2, 3}, Samples: samples},
			{Name: "b", Figures: []float64{4, 6}, Samples: samples},
			{Name: "c", Figures: []float64{math.NaN(), math.NaN()}, Failed: "it broke|badly"},
		},
	}}}
}

func TestClaims(t *testing.T) {
	for _, test := range []struct {
		claim   claim
		verdict string
		met     bool
	}{
		{claim{"a", "b", 0.5}, "met", true},
		{claim{"a", "b", 0.49}, "not met", false},
		{claim{"b", "a", 2}, "met", true},
		{claim{Peer: "a", Limit: 2.5}, "met", true},
		{claim{Peer: "a", Limit: 2.4}, "not met", false},
		{claim{"c", "a", 9}, "not measured", false},
		{claim{"a", "missing", 9}, "not measured", false},
	} {
		rep := twoPeers(test.claim)
		if rep.allMet() != test.met {
			t.Errorf("%+v: all met is %v", test.claim, rep.allMet())
		}
		if text := rep.markdown(); !strings.Contains(text, "| "+test.verdict+" |\n") {
			t.Errorf("%+v is not %q:\n%s", test.claim, test.verdict, text)
		}
	}
}

func TestTable(t *testing.T) {
	text := twoPeers().markdown()
	for _, want := range []string{
		"### Title",
		"| a | 2.50 (2.00–3.00) | 0.50 (0.50–0.50) | 10 | 50 % | 100 % | 0 % |\n",
		"| b | 5.00 (4.00–6.00) | 1.00 (1.00–1.00) |",
		`| c | failed: it broke\|badly |`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

// An open loop has latencies.
func TestTableOfAnOpenLoop(t *testing.T) {
	rep := twoPeers()
	rep.Cases[0].Rate = 10
	for _, s := range rep.Cases[0].Peers[0].Samples {
		s.Result.Median, s.Result.P99 = 150*time.Microsecond, 2*time.Millisecond
	}
	text := rep.markdown()
	for _, want := range []string{"| disturbed | p50 | p99 |\n", "| 0 % | 150 µs | 2.00 ms |\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

func TestMissingPeersAreNamed(t *testing.T) {
	rep := &suiteReport{}
	rep.addPeer("there", "1.0", nil)
	rep.addPeer("absent", "", errors.ErrUnsupported)
	text := rep.markdown()
	if !strings.Contains(text, "- there: 1.0\n") || !strings.Contains(text, "- absent: **missing**: ") {
		t.Errorf("the report is\n%s", text)
	}
}
