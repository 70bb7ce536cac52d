package e2e

import (
	"net/http"
	"testing"
)

func TestHealthPages(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		d := startProxy(t, ring, []string{serve(t, echo)})
		for _, path := range []string{"/livez", "/readyz"} {
			if status, _ := d.get(path); status != http.StatusOK {
				t.Errorf("%s: status %d", path, status)
			}
		}
		if status, _ := d.get("/nothing-here"); status != http.StatusNotFound {
			t.Errorf("/nothing-here: status %d", status)
		}
		d.stop()
	})
}

// The numbers on the page are what has happened.
func TestMetricsPage(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		d := startProxy(t, ring, []string{serve(t, echo)}, "--loops", "2")
		const connections, each = 10, 1000
		for range connections {
			c := dial(t, d.addr)
			c.send(bulk[:each])
			c.expect(bulk[:each])
			c.finish()
			c.expectEOF()
			c.Close()
		}
		eventually(t, "the connections have ended", func() bool { return d.connections() == 0 })
		page := d.scrape()
		for family, want := range map[string]float64{
			"reactord_listener_connections_total":    connections,
			"reactord_listener_receive_bytes_total":  connections * each,
			"reactord_listener_transmit_bytes_total": connections * each,
		} {
			if got := page.sum(family); got != want {
				t.Errorf("%s is %v, want %v", family, got, want)
			}
		}
		if page.sum("reactord_io_backend_info", "backend="+ring) < 1 {
			t.Errorf("reactord_io_backend_info does not name %s", ring)
		}
		for _, family := range []string{"reactord_build_info", "go_goroutines", "process_open_fds"} {
			if page.sum(family) < 1 {
				t.Errorf("%s is %v", family, page.sum(family))
			}
		}
		d.stop()
	})
}
