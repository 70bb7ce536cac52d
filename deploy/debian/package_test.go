package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// need returns the path of a program. Without it the test is skipped, and fails in CI.
func need(t *testing.T, program, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		missing(t, program+" is not installed; it is in Debian's package "+pkg)
	}
	return path
}

func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

func run(t *testing.T, argv ...string) (out string, err error) {
	text, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
	return string(text), err
}

// The package is as Debian wants it. It installs, runs, upgrades without a refused connection, and leaves nothing.
func TestPackage(t *testing.T) {
	if os.Getuid() != 0 {
		missing(t, "only root installs packages")
	}
	lintian := need(t, "lintian", "lintian")
	for program, pkg := range map[string]string{
		"curl": "curl", "logrotate": "logrotate", "setpriv": "util-linux", "ip": "iproute2", "systemd-analyze": "systemd",
		"pgrep": "procps",
	} {
		need(t, program, pkg)
	}
	built, err := build(runtime.GOARCH, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run(t, lintian, "--allow-root", "--fail-on", "error,warning", built); err != nil {
		t.Errorf("lintian: %v\n%s", err, out)
	}
	deb := filepath.Join(filepath.Dir(built), "reactord.deb")
	if err := os.Rename(built, deb); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, "testdata/throwaway", t.TempDir(), "testdata/lifecycle", deb)
	if err != nil || !strings.HasSuffix(out, "--- passed\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestVersion(t *testing.T) {
	date := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	// In the order of dpkg.
	versions := []struct{ describe, want string }{
		{"", "0~git20260102.030405.0123456"},
		{"v1.2.3-rc.1-0-g0123456", "1.2.3~rc.1"},
		{"v1.2.3-rc.1-4-g0123456", "1.2.3~rc.1+4.g0123456"},
		{"v1.2.3-0-g0123456", "1.2.3"},
		{"v1.2.3-4-g0123456", "1.2.3+4.g0123456"},
		{"v1.2.3-10-g0123456", "1.2.3+10.g0123456"},
		{"v1.3.0-0-g0123456", "1.3.0"},
	}
	last := "0~"
	for _, v := range versions {
		got := revision{v.describe, "0123456", date}.version()
		if got != v.want {
			t.Errorf("%s: %s, not %s", v.describe, got, v.want)
		}
		if _, err := run(t, need(t, "dpkg", "dpkg"), "--compare-versions", last, "lt", got); err != nil {
			t.Errorf("%s is not later than %s", got, last)
		}
		last = got
	}
}
