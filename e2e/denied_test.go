package e2e

import (
	"strings"
	"testing"
)

// Containers deny io_uring_setup(2): Docker with EPERM, Podman with ENOSYS.
func TestRingDenied(t *testing.T) {
	for _, errno := range []string{"EPERM", "ENOSYS"} {
		t.Run(errno, func(t *testing.T) {
			behind := []string{noiouring, "-errno", errno}
			t.Run("auto falls back to epoll", func(t *testing.T) { testFallback(t, behind, errno) })
			t.Run("io_uring is strict", func(t *testing.T) { testStrict(t, behind) })
		})
	}
}

// testFallback checks that the daemon runs on epoll, and reports why, once in its log and on its metrics page.
func testFallback(t *testing.T, behind []string, errno string) {
	d := startProxyBehind(t, behind, "auto", []string{serve(t, echo)})
	client := dial(t, d.addr)
	client.send([]byte("over epoll"))
	client.expect([]byte("over epoll"))

	why := d.logged(func(l line) bool {
		return strings.Contains(l.raw, "io_uring") && strings.Contains(l.raw, "epoll")
	})
	if len(why) != 1 {
		t.Errorf("the log explains the fallback in %d lines, want 1", len(why))
	}
	backends := d.scrape().series("reactord_io_backend_info", "backend=epoll")
	if len(backends) == 0 {
		t.Fatal("no reactord_io_backend_info with backend=epoll")
	}
	for _, m := range backends {
		if reason := label(m, "reason"); !strings.Contains(strings.ToLower(reason), strings.ToLower(errno)) {
			t.Errorf("the reason is %q, want one that names %s", reason, errno)
		}
	}
	client.Close()
	d.stop()
}

// testStrict checks that --ring io_uring is strict.
func testStrict(t *testing.T, behind []string) {
	argv := append(behind, reactord, "proxy", "--ring", "io_uring",
		"--listen", "tcp://127.0.0.1:0", "--to", "tcp://127.0.0.1:9")
	r := runCommand(t, argv...)
	if r.code != 1 {
		t.Errorf("exit code %d, want 1", r.code)
	}
	if !strings.Contains(r.stderr, "io_uring") {
		t.Errorf("the error does not name io_uring: %q", r.stderr)
	}
}
