package health

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender/task"
	"golang.org/x/sys/unix"
)

// lineLimit limits an agent's line in bytes.
const lineLimit = 1 << 10

// maxPercent is the largest weight that an agent may report.
const maxPercent = 1000

// defaultAgentTimeout applies to an agent without a timeout.
const defaultAgentTimeout = time.Second

// AgentReport is the report of an agent. What it omits stays as it was.
type AgentReport struct {
	Weight int        // percentage of the configured weight
	State  AgentState // administrative
	Down   bool       // down, whatever checks say
	Reason string     // why it is down, in the agent's words
}

// AgentState is the administrative state that an agent asks for.
type AgentState uint8

// Administrative states.
const (
	AgentReady       AgentState = iota
	AgentDrain                  // no new connections
	AgentMaintenance            // no new connections and no checks
)

// String returns the agent's word for the state.
func (s AgentState) String() string { return [...]string{"ready", "drain", "maint"}[s] }

// unreported is the report of an agent that has not answered yet.
var unreported = AgentReport{Weight: 100}

// AskAgent asks the agent at a.Port of the address once. before is its last report. The errors are those of [Check];
// an agent that cannot be reached does not count against its server.
//
// It is called by the function of t, which runs on a loop.
func AskAgent(t *task.T, to serveraddr.Addr, a *config.Agent, before AgentReport) (AgentReport, error) {
	report, to := before, to.WithPort(uint16(a.Port))
	err := run(t, to, unix.SOCK_STREAM, cmp.Or(a.Timeout, defaultAgentTimeout), func(p *probe, c *netconn.Conn) error {
		if err := p.send(c, []byte(a.Send)); err != nil {
			return err
		}
		got, err := p.receive(c, lineLimit, func(got []byte) bool { return bytes.ContainsAny(got, "\r\n") })
		switch {
		case errors.Is(err, io.ErrShortBuffer):
			return fmt.Errorf("agent's line is longer than %d bytes: %s", lineLimit, quote(got))
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		report, err = parseReport(string(got), before)
		return err
	})
	return report, err
}

// parseReport parses an agent's line: words separated by spaces, tabs or commas, and a reason for being down after #.
// Unknown words are ignored if any word is known, because HAProxy's agents may report more.
//
// Source: HAProxy's configuration manual, "agent-check".
func parseReport(line string, before AgentReport) (AgentReport, error) {
	if i := strings.IndexAny(line, "\r\n"); i >= 0 {
		line = line[:i]
	}
	words, reason, _ := strings.Cut(line, "#")
	r, known := before, false
	for _, word := range strings.FieldsFunc(words, func(c rune) bool { return c == ' ' || c == '\t' || c == ',' }) {
		ok := true
		switch lower := strings.ToLower(word); lower {
		case "up":
			r.Down, r.Reason = false, ""
		case "down", "fail", "failed", "stopped":
			r.Down, r.Reason = true, cmp.Or(strings.TrimSpace(strings.ToValidUTF8(reason, "?")), lower)
		case "ready":
			r.State = AgentReady
		case "drain":
			r.State = AgentDrain
		case "maint":
			r.State = AgentMaintenance
		default:
			var percent int
			if percent, ok = parsePercent(lower); ok {
				r.Weight = percent
			}
		}
		known = known || ok
	}
	if !known {
		return before, fmt.Errorf("agent reported %s; want up, down, ready, drain, maint or a weight of 0%% to %d%%",
			quote([]byte(line)), maxPercent)
	}
	return r, nil
}

func parsePercent(word string) (int, bool) {
	digits, ok := strings.CutSuffix(word, "%")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	return int(n), err == nil && n <= maxPercent
}
