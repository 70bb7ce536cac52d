package build

import (
	"runtime/debug"
	"testing"
)

func TestInfoOf(t *testing.T) {
	built := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	revision, clean, dirty := debug.BuildSetting{Key: "vcs.revision", Value: "abc"},
		debug.BuildSetting{Key: "vcs.modified", Value: "false"}, debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for name, test := range map[string]struct {
		info *debug.BuildInfo
		want Info
	}{
		"a release":             {built("v1.2.3", revision, clean), Info{"v1.2.3", "abc"}},
		"a modified tree":       {built("v1.2.3", revision, dirty), Info{"v1.2.3", "abc-dirty"}},
		"no revision":           {built("v1.2.3"), Info{"v1.2.3", unknown}},
		"modified, no revision": {built("v1.2.3", dirty), Info{"v1.2.3", unknown}},
		"no version":            {built(""), Info{unknown, unknown}},
	} {
		if got := infoOf(test.info); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
