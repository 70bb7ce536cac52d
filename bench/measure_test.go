package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/bench/record"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/uring"
)

// Every peer that is installed can be measured. The other ones say why they are missing.
func TestEveryPeerWorksOrSaysWhy(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts every peer")
	}
	w, peers := testWorkshop(t), suitePeers(nil)
	for _, c := range cases() {
		if !slices.Contains([]string{"echo-128", "proxy-16k", "rate-20k", "redis-get", "http", "https", "churn",
			"tls-resume", "idle-tls"}, c.Name) {
			continue
		}
		if c.Method.Unit == pairMemory.Unit {
			c.Conns = 100
		}
		for _, p := range peers[c.Group] {
			t.Run(c.Name+"/"+p.name, func(t *testing.T) {
				version, err := p.prepare(t.Context(), w)
				if errors.Is(err, uring.ErrUnavailable) {
					testenv.NeedIOUring(t, err)
				}
				if err != nil {
					t.Skip(err)
				}
				found, err := measure(t.Context(), w, c, p, 50*time.Millisecond)
				if err != nil {
					t.Fatalf("%s: %v", version, err)
				}
				if found.Figure <= 0 || c.Rate != 0 && found.Result.Median <= 0 {
					t.Errorf("%+v, %+v", found, found.Result)
				}
			})
		}
	}
}

// Resumption is a claim about the server that the load proves.
func TestSessionsThatAreNotResumed(t *testing.T) {
	w := record.NewWindow()
	w.Opened, w.Resumed = 100, 90
	if err := enoughResumed(w); err != nil {
		t.Error(err)
	}
	w.Resumed = 89
	if err := enoughResumed(w); err == nil || !strings.Contains(err.Error(), "89 of 100 connections") {
		t.Errorf("89 of 100: %v", err)
	}
}

// A proxy that does not log every connection fails.
func TestConnectionsThatAreNotLogged(t *testing.T) {
	w, c := testWorkshop(t), &benchCase{Conns: 2}
	window := record.NewWindow()
	window.Messages = 5
	phase := record.Phase{Parts: []record.PhasePart{{Window: window}}}
	found := &record.Result{Phases: []record.Phase{phase, phase}}
	for lines, want := range map[int]string{8: "", 7: "the access log has 7 lines for 10 connections"} {
		if err := os.WriteFile(w.accessLog(), []byte(strings.Repeat("a connection\n", lines)), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := everyLogged(w, c, found); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%d lines: %v, want %q", lines, err, want)
		}
	}
}

// A measurement before which nothing was compared fails: here every message of the warm-up sets another key.
func TestNothingIsCompared(t *testing.T) {
	load := []string{"redis", "--command", "get", "--size", "1", "--keys", "1000000"}
	c := &benchCase{Conns: 1, Load: load, Method: messageTime}
	p := stylePeer("redis", "redis", "tcp", "handler", "epoll")
	_, err := measure(t.Context(), testWorkshop(t), c, p, 10*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "no byte that could be compared came back") {
		t.Error(err)
	}
}
