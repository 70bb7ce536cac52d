//go:build linux

package reactor

import (
	"fmt"

	"github.com/reactord/reactord/internal/host"
	"github.com/reactord/reactord/uring"
)

// needed are the opcodes that every loop needs: to wait, to cancel and to close.
var needed = uring.NewOpSet(uring.OpPollAdd, uring.OpAsyncCancel, uring.OpClose, uring.OpNop)

// restrict restricts a ring to the opcodes, if there are any and if it can be restricted.
func restrict(ring host.Ring, ops uring.OpSet) error {
	r, can := ring.(host.Restricter)
	if ops == (uring.OpSet{}) || !can || !ring.Caps().Restrictions {
		return nil
	}
	if err := r.Restrict(uring.Restrictions{Ops: ops.Union(needed), Flags: uring.SQEBufferSelect}); err != nil {
		return fmt.Errorf("reactor: cannot restrict the ring: %w", err)
	}
	return nil
}

// allowed returns those of a ring's opcodes that the loop may submit.
func (cfg *LoopConfig) allowed(ops uring.OpSet) uring.OpSet {
	if cfg.Restrict == (uring.OpSet{}) {
		return ops
	}
	return ops.Intersection(cfg.Restrict.Union(needed))
}
