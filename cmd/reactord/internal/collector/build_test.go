package collector

import (
	"runtime/debug"
	"testing"
)

func TestBuildOf(t *testing.T) {
	build := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	revision, clean, dirty := debug.BuildSetting{Key: "vcs.revision", Value: "abc"},
		debug.BuildSetting{Key: "vcs.modified", Value: "false"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for name, test := range map[string]struct {
		info *debug.BuildInfo
		want Build
	}{
		"a release":             {build("v1.2.3", revision, clean), Build{"v1.2.3", "abc"}},
		"a modified tree":       {build("v1.2.3", revision, dirty), Build{"v1.2.3", "abc-dirty"}},
		"no revision":           {build("v1.2.3"), Build{"v1.2.3", unknown}},
		"modified, no revision": {build("v1.2.3", dirty), Build{"v1.2.3", unknown}},
		"no version":            {build(""), Build{unknown, unknown}},
	} {
		if got := buildOf(test.info); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
