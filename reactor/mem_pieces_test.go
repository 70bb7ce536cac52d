//go:build linux

package reactor_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/reactord/reactord/reactor"
)

// A list of pieces that was long once does not keep them alive.
func TestPiecesForget(t *testing.T) {
	var op reactor.SendvOp
	op.Reset()
	second := func() weak.Pointer[[4096]byte] {
		first, second := new([4096]byte), new([4096]byte)
		op.Add(first[:])
		op.Add(second[:])
		return weak.Make(second)
	}()
	op.Reset()
	op.Add(make([]byte, 1))
	runtime.GC()
	if second.Value() != nil {
		t.Error("a piece is kept alive")
	}
	runtime.KeepAlive(&op)
}
