package collector

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/cmd/reactord/internal/host/build"
)

// NewBuildInfo returns a collector of reactord_build_info.
func NewBuildInfo() prometheus.Collector {
	b := build.Read()
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "reactord_build_info",
		Help:        "Version and source revision of reactord, and the Go release that built it.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "goversion": runtime.Version()},
	})
	g.Set(1)
	return g
}
