package main

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/bench/machine"
)

// shown returns the page of a report with two peers, one that failed and one that is missing.
func shown(t *testing.T) string {
	t.Helper()
	rep := twoPeers(claim{"a", "b", 0.5}, claim{"b", "a", 1})
	rep.Machine.Machine = machine.Machine{Date: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Kernel: "6.0-test",
		CPU: "A <CPU>", CPUs: 2, Go: "go1", Revision: "abc", Congestion: "reno"}
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
		"2026-01-02", "Linux 6.0-test", "A &lt;CPU&gt;", "reno", "abc", `a <span class="soft">v1.2.3</span>`,
		`gone <span class="missing">missing: no &lt;compiler&gt;</span>`,
		"<h2>Title</h2>", "2.50 (2.00–3.00)", "failed: it broke|badly", `class="met">met<`, `class="unmet">not met<`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	// The page loads no other file.
	if found := regexp.MustCompile(`(?i)<(script|link|img)|src=|href=|url\(|@import`).FindString(page); found != "" {
		t.Errorf("the page has %q", found)
	}
}
