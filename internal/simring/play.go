package simring

import "io"

// Program puts threads on a kernel. What it returns is called when all of them have ended, to assert
// that the run was right (see Kernel.Errorf).
type Program func(k *Kernel) (check func())

// Play plays a program with a seed and a flaw, and returns what was wrong. trace, if it is not nil, is
// told of each step.
func Play(program Program, seed uint64, flaw Flaw, trace io.Writer) error {
	k := New(seed, trace)
	k.Odds.Flaw = flaw
	check := program(k)
	if err := k.Run(); err != nil {
		return err
	}
	check()
	return k.finish()
}
