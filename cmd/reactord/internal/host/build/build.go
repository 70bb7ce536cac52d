// Package build reports the version that this program was built from.
package build

import (
	"cmp"
	"runtime/debug"
)

// A build outside a git directory, such as that of a container's image, sets these:
//
//	go build -ldflags '-X github.com/reactord/reactord/cmd/reactord/internal/host/build.version=v1.0.0'
var version, revision string

// unknown is the value of a field without information.
const unknown = "unknown"

// Info is the version of this program. A field without information is "unknown".
type Info struct {
	Version  string // of the module; "(devel)" without one
	Revision string // of git, followed by "-dirty" if there were changes
}

// Read returns the version that the toolchain recorded in the program. The revision is known only if the program was
// built inside the repository, or with the flags above; otherwise the version identifies it.
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
