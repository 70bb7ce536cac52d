//go:build linux && reactordebug

package reactor_test

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// Bytes that are used after Release make no sense.
func TestReleasePoisons(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := run(t, reactor.LoopConfig{Ring: kind})
		s, peer, lease := r.lease()
		r.do(func() {
			held := lease.Bytes()
			lease.Release()
			if bytes.ContainsAny(held, "leased") {
				t.Errorf("%q can still be read", held)
			}
		})
		r.close(s)
		unix.Close(peer)
		r.end()
	})
}
