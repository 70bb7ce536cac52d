package proxy

import (
	"encoding/json"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
)

// Connections that are refused when they are accepted have lines in the access log, and no more than it says.
func TestRefusedAreLogged(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring reactor.RingKind) {
		const clients, most = 30, 2
		cfg := setupOf(Backend{}, listen(t))
		cfg.Ring, cfg.Loops = ring, 2
		next := cfg.plan()
		next.Listeners[0].Deny = prefixes("127.0.0.0/8")
		next.AccessLog = logTo(t, "")
		next.AccessLog.Format, next.AccessLog.Refused = "json", most
		p := runPlan(t, cfg.Config, next)
		began := time.Now()
		sources := map[string]bool{}
		for range clients {
			c, err := net.Dial("tcp", p.Addrs()[0].String())
			if err != nil {
				continue // it is reset before this is noticed
			}
			sources[c.LocalAddr().String()] = true
			_, _ = c.Read(make([]byte, 1))
			_ = c.Close()
		}
		waitFor(t, "all are counted", func() bool { return rejected(p, "denied") == clients })
		lasted := time.Since(began)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(next.AccessLog.Path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if n := len(lines); n < 1 || n > most*(int(lasted.Seconds())+2) {
			t.Errorf("%d lines in %v", n, lasted)
		}
		for _, line := range lines {
			var l struct{ By, Phase, Code, Client, Listener string }
			if err := json.Unmarshal([]byte(line), &l); err != nil || l.By != "denied" || l.Phase != "accept" ||
				l.Code != "PR" || l.Listener != "l" || len(sources) == clients && !sources[l.Client] {
				t.Errorf("%v: %s", err, line)
			}
		}
	})
}
