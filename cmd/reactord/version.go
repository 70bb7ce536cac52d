package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run() error {
	fmt.Println(readBuild())
	return nil
}

// build is what the binary knows of its making.
type build struct {
	version  string // of the module, or "(devel)"
	revision string // of the source; "" if it was not built in a checkout
	modified bool   // the checkout was not clean
}

func readBuild() build {
	b := build{version: "(devel)"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.revision = s.Value
		case "vcs.modified":
			b.modified = s.Value == "true"
		}
	}
	return b
}

// String is the line that reactord version prints.
func (b build) String() string {
	s := "reactord " + b.version
	if b.revision != "" {
		s += ", revision " + b.revision
		if b.modified {
			s += " with changes"
		}
	}
	return fmt.Sprintf("%s, %s, %s/%s", s, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
