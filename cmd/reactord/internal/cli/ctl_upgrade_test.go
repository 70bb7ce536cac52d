package cli

import (
	"bufio"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin/admintest"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// upgraded returns a status of the new process that has taken some connections, while others are in old processes.
func upgraded(taken uint64, old ...admin.Predecessor) admin.Status {
	return admin.Status{
		PID: admintest.UpgradedPID, Phase: admin.Serving, Predecessors: old,
		Handover: &stats.Handovers{Taken: taken, Taking: len(old) > 0},
	}
}

func oldProcessOf(connections int, staying ...stats.Count) admin.Predecessor {
	return admin.Predecessor{PID: 42, Connections: connections, Left: 3540, Staying: staying}
}

// ctl status says how many connections of old processes the process has taken, and what the old ones have.
func TestStatusOfUpgraded(t *testing.T) {
	var text strings.Builder
	w := bufio.NewWriter(&text)
	s := upgraded(9, oldProcessOf(3, stats.Count{Reason: "tls", Count: 3}))
	showStatus(w, &s)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\ntaken over   9 connections of old processes\n",
		"\nold process  42: version , replaced 0ms ago, 3 connections, 59m00s left, 3 stay (tls)\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the status is\n%s\nwant\n%s", &text, want)
		}
	}
}

// A migration ends when nothing can move, which two readings in a row have to say.
func TestMigrationEnds(t *testing.T) {
	tls, refused := stats.Count{Reason: "tls", Count: 3}, stats.Count{Reason: "refused", Count: 1}
	busy, foreign := stats.Count{Reason: "busy", Count: 1}, stats.Count{Reason: "of another version", Count: 2}
	kept := upgraded(0, oldProcessOf(5))
	kept.Handover.Taking = false
	none := upgraded(0, oldProcessOf(5))
	none.Handover = nil // of a version that takes none
	begins := upgraded(0)
	begins.Phase = "starting"
	silent := upgraded(7, admin.Predecessor{PID: 42, Error: "process 42: timeout"})
	for _, test := range []struct {
		name     string
		readings []admin.Status
		over     int // the reading after which it ends; -1: it does not
	}{
		{"all have moved", []admin.Status{upgraded(9), upgraded(9)}, 1},
		{"the old process answers first", []admin.Status{{PID: 42}, {PID: 42}, upgraded(9), upgraded(9)}, 3},
		{"the new process does not know the old one yet", []admin.Status{begins, begins, upgraded(9), upgraded(9)}, 3},
		{"not all are explained yet", []admin.Status{upgraded(5, oldProcessOf(4, tls)),
			upgraded(5, oldProcessOf(4, tls))}, -1},
		{"the others stay", []admin.Status{upgraded(5, oldProcessOf(4)), upgraded(5, oldProcessOf(4, tls, refused)),
			upgraded(5, oldProcessOf(4, tls, refused))}, 2},
		{"one has ended and is counted", []admin.Status{upgraded(5, oldProcessOf(2, tls)),
			upgraded(5, oldProcessOf(2, tls))}, 1},
		{"one that has ended hides one that moves", []admin.Status{upgraded(5, oldProcessOf(3, tls)),
			upgraded(5, oldProcessOf(3, stats.Count{Reason: "tls", Count: 2})), upgraded(6, oldProcessOf(2, tls))}, -1},
		{"one is busy", []admin.Status{upgraded(5, oldProcessOf(1, busy)), upgraded(5, oldProcessOf(1, busy))}, -1},
		{"another version has its reasons", []admin.Status{upgraded(5, oldProcessOf(2, foreign)),
			upgraded(5, oldProcessOf(2, foreign))}, 1},
		{"none is handed over", []admin.Status{kept, kept}, 1},
		{"none is taken", []admin.Status{none, none}, 1},
		{"the old process does not answer", []admin.Status{silent, silent}, -1},
		{"an older process has some that move", []admin.Status{
			upgraded(5, oldProcessOf(3, tls), admin.Predecessor{PID: 41, Connections: 1}),
			upgraded(5, oldProcessOf(3, tls), admin.Predecessor{PID: 41, Connections: 1})}, -1},
		{"another upgrade", []admin.Status{upgraded(5, oldProcessOf(3)), {PID: 4712}}, 1},
	} {
		m := &migration{from: 42, to: admintest.UpgradedPID}
		over := -1
		for i := range test.readings {
			if _, ends := m.see(&test.readings[i]); ends {
				over = i
				break
			}
		}
		if over != test.over {
			t.Errorf("%s: it ends after reading %d, want %d", test.name, over, test.over)
		}
	}
}

// Each reason of the proxy is explained.
func TestStayReasons(t *testing.T) {
	for _, n := range proxy.StayReasons() {
		if reasonOf(n.Reason).Meaning == "" {
			t.Errorf("stats.StayReasons lacks %q", n.Reason)
		}
	}
}

// The outcome is printed as a table, or as JSON. What has moved is what the new process has taken, also if the old one
// has ended since its last reading.
func TestCtlUpgrade(t *testing.T) {
	took := regexp.MustCompile(`in \d+ms`)
	tls := []stats.Count{{Reason: "refused", Count: 1}, {Reason: "tls", Count: 3}}
	for _, test := range []struct {
		readings []admin.Status
		want     string
	}{
		{[]admin.Status{{PID: 42}, upgraded(1200, oldProcessOf(4)), upgraded(1204)}, `
moved  1204

process 42 has ended
`},
		{[]admin.Status{upgraded(1204, oldProcessOf(4, tls...), admin.Predecessor{PID: 41, Connections: 1,
			Staying: []stats.Count{{Reason: "tls", Count: 1}}})}, `
moved  1204
stay      4  tls      TLS ends in the old process: they stay until they end; of TLS 1.3, those move whose handshake came after tls.handover was set
          1  refused  the new process does not take them: raise the limit on open files (LimitNOFILE=) if it is reached, and upgrade again; sessions of UDP whose listener is gone end when they are idle

process 42 drains in 59m00s (upgrade.timeout); to end it now: reactord ctl close --pid 42
process 41 lives as long as its connections; to end it now: reactord ctl close --pid 41
`},
		{[]admin.Status{upgraded(7, oldProcessOf(2)), {PID: 4712}}, `
moved  7
stay   2  moving   it is not their turn yet: they move soon

process 42 drains in 59m00s (upgrade.timeout); to end it now: reactord ctl close --pid 42
process 4712 has replaced it meanwhile; ctl status shows what moves to that
`},
	} {
		for _, asJSON := range []bool{false, true} {
			d := admintest.New(0)
			d.Upgraded = test.readings
			args := []string{"upgrade"}
			if asJSON {
				args = append(args, "--json")
			}
			code, stdout, stderr := runCtl(t, serveAdmin(t, d), args...)
			if code != 0 || stderr != "" {
				t.Fatalf("exit code %d, %s%s", code, stdout, stderr)
			}
			if asJSON {
				checkUpgradeJSON(t, stdout, test.want)
				continue
			}
			first, rest, _ := strings.Cut(stdout, "\n")
			if took.ReplaceAllString(first, "in 1ms") != "process 4711 has taken over from 42 in 1ms" {
				t.Errorf("it begins with %q", first)
			}
			if diff := cmp.Diff(test.want, rest); diff != "" {
				t.Error(diff)
			}
		}
	}
}

// checkUpgradeJSON compares a JSON document with the table for people.
func checkUpgradeJSON(t *testing.T, text, table string) {
	t.Helper()
	var r upgradeReport
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil || d.More() {
		t.Fatalf("%v: %s", err, text)
	}
	if r.PID != admintest.UpgradedPID || r.Replaced != 42 || r.Served < 0 {
		t.Errorf("%+v", r)
	}
	var b strings.Builder
	w := bufio.NewWriter(&b)
	r.print(w)
	_ = w.Flush()
	if diff := cmp.Diff(table, b.String()); diff != "" {
		t.Error(diff)
	}
}

// Connections that could move are awaited for a time, and a process that listens elsewhere for a shorter one.
func TestCtlUpgradeGivesUp(t *testing.T) {
	for _, test := range []struct {
		readings []admin.Status
		want     string
	}{
		{[]admin.Status{upgraded(1, oldProcessOf(1, stats.Count{Reason: "busy", Count: 1}))}, `
moved  1
stay   1  busy     they are not at rest yet: they move when what is in flight has completed

process 42 drains in 59m00s (upgrade.timeout); to end it now: reactord ctl close --pid 42
not all have moved in 400ms; ctl status shows them
`},
		{[]admin.Status{{PID: 42}}, "process 4711 does not answer here ("},
	} {
		d := admintest.New(0)
		d.Upgraded = test.readings
		code, stdout, stderr := runCtl(t, serveAdmin(t, d), "upgrade", "--wait", "400ms")
		_, rest, _ := strings.Cut(stdout, "\n")
		if code != 0 || stderr != "" || !strings.HasPrefix(rest, test.want) {
			t.Errorf("%d %s%s, want %s", code, stdout, stderr, test.want)
		}
	}
}

// A line is shorter than the terminal.
func TestProgressLine(t *testing.T) {
	for _, test := range []struct {
		columns int
		moved   uint64
		left    int
		want    string
	}{
		{80, 0, 0, "[..............................] 0 moved, 0 left, 1.5s"},
		{80, 2, 1, "[####################..........] 2 moved, 1 left, 1.5s"},
		{80, 50000, 0, "[##############################] 50000 moved, 0 left, 1.5s"},
		{40, 2, 1, "2 moved, 1 left, 1.5s"},
		{10, 2, 1, "2 moved, "},
		{1, 2, 1, ""},
	} {
		if got := progressLine(test.columns, test.moved, test.left, 1500*time.Millisecond); got != test.want {
			t.Errorf("%d columns: %q, want %q", test.columns, got, test.want)
		}
	}
}
