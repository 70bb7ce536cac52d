package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
)

// Every connection moves, the clients see each echo, and the proxy counts a pause for each connection.
func TestPause(t *testing.T) {
	const n = 60
	_, err := reactor.ChooseRing(reactor.IOUring)
	testenv.NeedIOUring(t, err)
	c := &pauseCommand{Connections: []int{n}, Rings: []string{"io_uring", "epoll"}, Loops: 2, Every: 50 * time.Millisecond,
		Size: 64, Time: time.Second, LoadLoops: 1}
	var progress bytes.Buffer
	rep, err := c.measureAll(t.Context(), testWorkshop(t), &progress)
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Runs) != 2 || len(rep.Notes) != 0 || strings.Count(progress.String(), "\n") != 2 {
		t.Fatalf("%d runs, notes %q, progress %q", len(rep.Runs), rep.Notes, progress.String())
	}
	for _, r := range rep.Runs {
		if r.Connections != n || r.Moved != n || len(r.Stay) != 0 || r.Note != "" || r.Failed.Total() != 0 {
			t.Errorf("%s: %+v", r.Ring, r)
		}
		if r.Served <= 0 || r.Ended <= 0 {
			t.Errorf("%s: it serves after %v, the old process ends after %v", r.Ring, r.Served, r.Ended)
		}
		for name, w := range map[string]*pauseWindow{"quiet": &r.Quiet, "upgrade": &r.Upgrade} {
			if w.Messages < n || w.Echo.Count() != w.Messages || w.Longest.Count() != n || w.Longest.Max() != w.Echo.Max() {
				t.Errorf("%s, %s: %d messages, %d echoes, %d connections, %v and %v at most", r.Ring, name, w.Messages,
					w.Echo.Count(), w.Longest.Count(), w.Longest.Max(), w.Echo.Max())
			}
		}
		sum := uint64(0)
		for _, b := range r.Pause.Buckets {
			sum += b.Count
		}
		if r.Pause.Count != n || sum > n || sum == 0 || r.Pause.mean() <= 0 {
			t.Errorf("%s: %+v", r.Ring, r.Pause)
		}
	}
	text := rep.markdown()
	for _, want := range []string{"| io_uring | 2 | 60 | quiet | ", "| epoll | 2 | 60 | upgrade | ", " | 60 | 0 | 60 | "} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	if _, err := json.Marshal(rep); err != nil {
		t.Error(err)
	}
}

// More connections than there may be open files are reduced, and the report says so.
func TestPauseIsLimited(t *testing.T) {
	files, err := openFiles()
	if err != nil {
		t.Fatal(err)
	}
	w := testWorkshop(t)
	if _, err := w.buildReactord(t.Context()); err != nil {
		t.Fatal(err)
	}
	bed, err := newPauseBed(t.Context(), w, &pauseCommand{Loops: 1}, "epoll", files)
	if err != nil {
		t.Fatal(err)
	}
	defer bed.stop()
	if n := bed.connections; n < files/4 || n > files/2 {
		t.Errorf("%d connections with %d open files; the proxy needs two for each", n, files)
	}
}
