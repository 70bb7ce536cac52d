package health

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParseReport(t *testing.T) {
	down := AgentReport{Weight: 50, State: AgentDrain, Down: true, Reason: "down"}
	for _, c := range []struct {
		line   string
		before AgentReport
		want   AgentReport
	}{
		{"up\n", unreported, unreported},
		{"75%\r\n", unreported, AgentReport{Weight: 75}},
		{"0%", unreported, AgentReport{}},
		{"up ready 100%\nand more", down, unreported},
		{"up", down, AgentReport{Weight: 50, State: AgentDrain}},
		{"ready", down, AgentReport{Weight: 50, Down: true, Reason: "down"}},
		{"drain,10%", unreported, AgentReport{Weight: 10, State: AgentDrain}},
		{"MAINT\t", unreported, AgentReport{Weight: 100, State: AgentMaintenance}},
		{"down # no disk \r", unreported, AgentReport{Weight: 100, Down: true, Reason: "no disk"}},
		{"stopped", unreported, AgentReport{Weight: 100, Down: true, Reason: "stopped"}},
		{"fail #", unreported, AgentReport{Weight: 100, Down: true, Reason: "fail"}},
		{"failed", unreported, AgentReport{Weight: 100, Down: true, Reason: "failed"}},
		{"maxconn:30 up 20%", unreported, AgentReport{Weight: 20}},
		{"up # 20%", unreported, unreported},
	} {
		got, err := parseReport(c.line, c.before)
		if err != nil || got != c.want {
			t.Errorf("%q: %+v, %v; want %+v", c.line, got, err, c.want)
		}
	}
	for _, line := range []string{
		"", "\n", "hello", "%", "-1%", "1001%", "99999999999999999999%", "1.5%", "# up", "\nup",
	} {
		got, err := parseReport(line, down)
		if err == nil || got != down {
			t.Errorf("%q: %+v, %v; want an error", line, got, err)
		} else if !strings.Contains(err.Error(), "want up") {
			t.Errorf("%q: %v; want what to say instead", line, err)
		}
	}
}

func FuzzAgent(f *testing.F) {
	for _, s := range []string{"up\n", "down # reason", "75% drain", "maxconn:3,ready\r\n", "\xff#\xfe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		before := AgentReport{Weight: 7, State: AgentDrain, Down: true, Reason: "before"}
		r, err := parseReport(line, before)
		if err != nil && r != before {
			t.Errorf("%q: %+v although %v", line, r, err)
		}
		if r.Weight < 0 || r.Weight > maxPercent || r.State > AgentMaintenance || r.Down != (r.Reason != "") {
			t.Errorf("%q: %+v", line, r)
		}
		if !utf8.ValidString(r.Reason) || strings.ContainsAny(r.Reason, "\r\n") {
			t.Errorf("%q: the reason %q", line, r.Reason)
		}
	})
}
