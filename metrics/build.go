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

// Build is which reactord is in a program. What is not known is "unknown".
type Build struct {
	Version  string // of the module; "(devel)" if it has none
	Revision string // of the source, with "-dirty" behind it if there were changes
}

// ReadBuild looks the module up in what the toolchain wrote into the program. The revision is known only
// of a program that was built inside the repository; else the version names it.
func ReadBuild() Build {
	if info, ok := debug.ReadBuildInfo(); ok {
		return buildOf(info)
	}
	return Build{unknown, unknown}
}

func buildOf(info *debug.BuildInfo) Build {
	b := Build{unknown, unknown}
	if info.Main.Path != module {
		for _, d := range info.Deps {
			if d.Path == module {
				b.Version = versionOf(d)
			}
		}
		return b
	}
	b.Version = versionOf(&info.Main)
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
	b := ReadBuild()
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "reactord_build_info",
		Help:        "The version and the source revision of reactord, and the Go release that built it.",
		ConstLabels: prometheus.Labels{"version": b.Version, "revision": b.Revision, "goversion": runtime.Version()},
	})
	g.Set(1)
	return g
}
