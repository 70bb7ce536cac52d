// Package copies has the copies that go vet has to find: one in each line that ends with a comment.
package copies

import "github.com/reactord/reactord/reactor"

type conn struct {
	socket reactor.Socket
	recv   reactor.RecvOp
}

func ops(a *reactor.RecvOp, b *reactor.SleepOp, c *reactor.CloseOp) {
	x := *a // copy
	y := *b // copy
	z := *c // copy
	_, _, _ = &x, &y, &z
}

func descriptors(s *reactor.Socket, f *reactor.File, p *reactor.Pipe) {
	x := *s // copy
	y := *f // copy
	z := *p // copy
	_, _, _ = &x, &y, &z
}

func slices(conns []conn) {
	for _, c := range conns { // copy
		_ = &c
	}
}

func param(c conn) { _ = &c } // copy
