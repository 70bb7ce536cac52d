package collector

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// A build outside a git directory, as of a container's image, is told what it builds:
//
//	go build -ldflags '-X github.com/reactord/reactord/cmd/reactord/internal/collector.version=v1.0.0'
var version, revision string

// unknown is what a build does not tell.
const unknown = "unknown"

// Build is the version of this program. What the program does not know about itself is "unknown".
type Build struct {
	Version  string // of the module; "(devel)" if it has none
	Revision string // of the source, followed by "-dirty" if there were changes
}

// ReadBuild reads what the toolchain wrote into the program. The revision is known only of a program that was built
// inside the repository, or that was told; of others the version tells as much.
func ReadBuild() Build {
	if info, ok := debug.ReadBuildInfo(); ok {
		return buildOf(info)
	}
	return Build{unknown, unknown}
}

func buildOf(info *debug.BuildInfo) Build {
	b := Build{unknown, unknown}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	modified := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.Revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "-dirty"
		}
	}
	if b.Revision != unknown {
		b.Revision += modified
	}
	return Build{cmp.Or(version, b.Version), cmp.Or(revision, b.Revision)}
}

// NewBuildInfo is a collector of reactord_build_info.
func NewBuildInfo() prometheus.Collector {
	b := ReadBuild()
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "reactord_build_info",
		Help:        "Version and source revision of reactord, and the Go release that built it.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "goversion": runtime.Version()},
	})
	g.Set(1)
	return g
}
