//go:build linux

package reactor_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// The child's end of a pipe blocks, and the loop's does not; bytes and EOF pass in both directions.
func TestPipesOfChildren(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		var from, to reactor.File
		childOut, err := from.OpenFromChild(r.Loop)
		if err != nil {
			t.Fatal(err)
		}
		childIn, err := to.OpenToChild(r.Loop)
		if err != nil {
			t.Fatal(err)
		}
		blocks := func(fd int) bool {
			flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
			if err != nil {
				t.Error(err)
			}
			return flags&unix.O_NONBLOCK == 0
		}
		for _, f := range []*os.File{childOut, childIn} {
			raw, err := f.SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			_ = raw.Control(func(fd uintptr) {
				if !blocks(int(fd)) {
					t.Error("the child's end does not block")
				}
			})
		}
		if blocks(from.Fd()) || blocks(to.Fd()) {
			t.Error("the loop's end blocks")
		}
		if _, err := childOut.WriteString("out"); err != nil {
			t.Error(err)
		}
		childOut.Close()
		buf := make([]byte, 10)
		if n := must[int](r, from.Read(buf), new(reactor.ReadOp)); string(buf[:n]) != "out" {
			t.Errorf("%q", buf[:n])
		}
		if n := must[int](r, from.Read(buf), new(reactor.ReadOp)); n != 0 {
			t.Errorf("%d bytes behind the end", n)
		}
		must[int](r, to.WriteAll([]byte("in")), new(reactor.WriteOp))
		r.closeFiles(&to)
		if n, err := childIn.Read(buf); string(buf[:n]) != "in" || err != nil {
			t.Errorf("%q, %v", buf[:n], err)
		}
		childIn.Close()
		r.closeFiles(&from)
	})
}
