package simring

import (
	"io"
	"runtime"
)

// Program makes the threads of a run. The function that it returns is called when all threads have ended, to assert
// that the run was right (see [Kernel.Errorf]).
type Program func(k *Kernel) (check func())

// Play runs a program with a seed and a flaw, and returns what was wrong. Each step is written to trace, if that is not
// nil.
//
// The run stays on one thread of the process, since package task asserts that its coroutines do.
func Play(program Program, seed uint64, flaw Flaw, trace io.Writer) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	k := New(seed, trace)
	k.Odds.Flaw = flaw
	defer k.unwind() // if program does not return
	check := program(k)
	if err := k.Run(); err != nil {
		return err
	}
	check()
	return k.finishAll()
}
