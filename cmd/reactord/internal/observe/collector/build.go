package collector

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/cmd/reactord/internal/host/build"
	"github.com/reactord/reactord/internal/series"
)

var buildInfo = series.NewDesc("build_info",
	"Version and source revision of reactord, and the Go release that built it.", "goversion", "revision", "version")

// NewBuildInfo returns a collector of reactord_build_info.
func NewBuildInfo() prometheus.Collector {
	b := build.Read()
	return series.NewCollector(func(s *series.Scrape) {
		s.Of().Value(buildInfo, 1, "goversion", runtime.Version(), "revision", b.Revision, "version", b.Version)
	}, buildInfo)
}
