package metrics

import (
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// module is the path of this module.
const module = "github.com/reactord/reactord"

// unknown is what a build does not tell.
const unknown = "unknown"

// build is which reactord is in a program.
type build struct{ version, revision string }

// buildOf looks the module up in what the toolchain wrote into the program. The revision is known only
// of a program that was built inside the repository; else the version names it.
func buildOf(info *debug.BuildInfo) build {
	b := build{unknown, unknown}
	if info.Main.Path != module {
		for _, d := range info.Deps {
			if d.Path == module {
				b.version = versionOf(d)
			}
		}
		return b
	}
	b.version = versionOf(&info.Main)
	modified := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "-dirty"
		}
	}
	if b.revision != unknown {
		b.revision += modified
	}
	return b
}

func versionOf(m *debug.Module) string {
	if m.Replace != nil {
		m = m.Replace
	}
	if m.Version == "" {
		return unknown
	}
	return m.Version
}

// newBuildInfo is a collector of reactord_build_info.
func newBuildInfo() prometheus.Collector {
	b := build{unknown, unknown}
	if info, ok := debug.ReadBuildInfo(); ok {
		b = buildOf(info)
	}
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "reactord_build_info",
		Help:        "The version and the source revision of reactord, and the Go release that built it.",
		ConstLabels: prometheus.Labels{"version": b.version, "revision": b.revision, "goversion": runtime.Version()},
	})
	g.Set(1)
	return g
}
