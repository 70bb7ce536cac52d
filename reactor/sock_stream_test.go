//go:build linux && reactordebug

package reactor_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// A socket that is no stream is refused, and stays the caller's.
func TestInitStreamOfDatagrams(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		r.do(func() {
			var s reactor.Socket
			mustPanic(t, "InitStream", "use Init", func() { s.InitStream(r.Loop, fds[0]) })
		})
		r.end()
		for _, fd := range fds {
			if err := unix.Close(fd); err != nil {
				t.Error(err)
			}
		}
	})
}
