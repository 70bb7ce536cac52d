package main

import (
	"io"
	"net"
	"slices"
	"testing"

	"github.com/reactord/reactord/internal/testenv"
)

// 1 000 services of two servers each have few enough series by default. A level has no series that the next one lacks,
// but the histograms of all together.
func TestSeriesOfEachDetail(t *testing.T) {
	counts := map[string]int{}
	var before []string
	for _, detail := range []string{"summary", "normal", "full"} {
		f := thousand
		f.detail = detail
		s := scrapedWith(t, f.yaml(t))
		families := s.families(t)
		for _, n := range countGroups(t, families) {
			counts[detail] += n
		}
		var names []string
		for name := range families {
			names = append(names, name)
		}
		for _, name := range before {
			if !slices.Contains(names, name) {
				t.Errorf("%s has no %s, and the level before has", detail, name)
			}
		}
		before = names
	}
	t.Logf("series: %v", counts)
	if counts["summary"] > 10_000 || counts["normal"] > 16_000 || counts["full"] < 200_000 {
		t.Errorf("series: %v", counts)
	}
}

// What a listener does for the first time begins with 0, so that rate and increase see it. A reload changes the level.
func TestSeriesBeginAtZero(t *testing.T) {
	text := `metrics: 127.0.0.1:0
listeners:
- {name: dead, backend: gone, address: 127.0.0.1:0}
backends:
- {name: gone, retries: 0, servers: [{address: ` + testenv.Vacant(t) + `, name: closed}]}
`
	s := scrapedWith(t, text)
	before := identities(t, s)
	if c, err := net.Dial("tcp", s.listeners["dead"]); err == nil { // else it was reset already
		_, _ = io.ReadAll(c)
		c.Close()
	}
	s.expect(t, `reactord_backend_no_server_total{backend="gone"} 0`,
		`reactord_server_connect_failures_total{backend="gone",reason="refused",server="closed"} 0`,
		`reactord_connections_closed_total{listener="dead",phase="connect",term_by="server"} 0`,
		`reactord_connection_duration_seconds_count{listener=""} 1`)
	for _, line := range before {
		if !slices.Contains(identities(t, s), line) {
			t.Errorf("%s is no longer there", line)
		}
	}
	s.write(t, "metrics: {address: 127.0.0.1:0, detail: full}"+text[len("metrics: 127.0.0.1:0"):])
	s.reload(t)
	s.expect(t, `reactord_backend_no_server_total{backend="gone"} 1`,
		`reactord_listener_info{listener="dead",network="tcp"} 1`)
}
