package simring

import (
	"io"
	"runtime"
)

// Program puts threads on a kernel. What it returns is called when all of them have ended, to assert
// that the run was right (see Kernel.Errorf).
type Program func(k *Kernel) (check func())

// Play plays a program with a seed and a flaw, and returns what was wrong. Each step is
// written to trace, if it is not nil.
//
// The run keeps to one thread of the process: package task knows by it that it is where it should be.
func Play(program Program, seed uint64, flaw Flaw, trace io.Writer) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	k := New(seed, trace)
	k.Odds.Flaw = flaw
	check := program(k)
	if err := k.Run(); err != nil {
		return err
	}
	check()
	return k.finish()
}
