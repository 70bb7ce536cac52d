// Package build tells which version of the source this program was built from.
package build

import (
	"cmp"
	"runtime/debug"
)

// A build outside a git directory, as of a container's image, is told what it builds:
//
//	go build -ldflags '-X github.com/reactord/reactord/cmd/reactord/internal/host/build.version=v1.0.0'
var version, revision string

// unknown is what a build does not tell.
const unknown = "unknown"

// Info is the version of this program. What the program does not know about itself is "unknown".
type Info struct {
	Version  string // of the module; "(devel)" if it has none
	Revision string // of the source, followed by "-dirty" if there were changes
}

// Read returns what the toolchain wrote into the program. The revision is known only of a program that was built
// inside the repository, or that was told; of others the version tells as much.
func Read() Info {
	if info, ok := debug.ReadBuildInfo(); ok {
		return infoOf(info)
	}
	return Info{unknown, unknown}
}

func infoOf(info *debug.BuildInfo) Info {
	b := Info{unknown, unknown}
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
	return Info{cmp.Or(version, b.Version), cmp.Or(revision, b.Revision)}
}
