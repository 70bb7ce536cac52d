package metrics

import (
	"runtime/debug"
	"testing"
)

func TestBuildOf(t *testing.T) {
	inside := func(settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: module, Version: "v1.2.3"}, Settings: settings}
	}
	outside := func(deps ...*debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{
			Main:     debug.Module{Path: "example.com/shop", Version: "v9.0.0"},
			Deps:     deps,
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "the shop's"}},
		}
	}
	revision, clean, dirty := debug.BuildSetting{Key: "vcs.revision", Value: "abc"},
		debug.BuildSetting{Key: "vcs.modified", Value: "false"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for name, test := range map[string]struct {
		info *debug.BuildInfo
		want Build
	}{
		"a release":          {inside(revision, clean), Build{"v1.2.3", "abc"}},
		"a modified tree":    {inside(revision, dirty), Build{"v1.2.3", "abc-dirty"}},
		"no revision":        {inside(), Build{"v1.2.3", unknown}},
		"modified of what":   {inside(dirty), Build{"v1.2.3", unknown}},
		"no version":         {&debug.BuildInfo{Main: debug.Module{Path: module}}, Build{unknown, unknown}},
		"embedded":           {outside(&debug.Module{Path: "example.com/a", Version: "v7.0.0"}, &debug.Module{Path: module, Version: "v1.2.0"}), Build{"v1.2.0", unknown}},
		"embedded, replaced": {outside(&debug.Module{Path: module, Version: "v1.2.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.2.1"}}), Build{"v1.2.1", unknown}},
		"not there":          {outside(), Build{unknown, unknown}},
	} {
		if got := buildOf(test.info); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
