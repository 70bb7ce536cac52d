package micro

import (
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/seq"
	"github.com/reactord/reactord/sender/task"
)

// A path is the way of a message through several packages.
type path struct {
	name  string
	parts int // of a round: the number of calls of completed

	// open prepares the path on the loop's thread, and returns the function that starts a round.
	open func(b *bed) (step func())
}

var paths = []path{
	{"chain of three over an operation", 1, chain},
	{"scheduled on another loop and back", 1, hop},
	{"receive with a timeout that is not needed", 2, timeout},
	{"the first of two receives", 2, firstOfTwo},
	{"receive that is stopped in flight", 1, stopped},
	{"echo by Let", 3, echoByLet},
	{"echo by a task", 2, echoByTask},
	{"items of a sequence of leases", 2, items},
	{"operation repeated ten times", 1, repeated},
}

// size is the size of a message in bytes.
const size = 128

func chain(b *bed) func() {
	add := func(n int) int { return n + 1 }
	s := sender.Then(sender.Then(sender.Then(b.loop.Nop(), func(struct{}) int { return 1 }), add), add)
	return connecting(s, sender.Receiver[int](&receiver[int]{bed: b}))
}

func hop(b *bed) func() {
	s := sender.Sequence(sender.Schedule(b.other), sender.Schedule(b.loop))
	return connecting(s, sender.Receiver[struct{}](&receiver[struct{}]{bed: b}))
}

// sending returns a function that sends a message.
func sending(b *bed, from *reactor.Socket) func() {
	return connecting(from.SendAll(make([]byte, size)), sender.Receiver[int](&receiver[int]{bed: b}))
}

func timeout(b *bed) func() {
	near, far := b.pair()
	s := sender.Timeout(far.Recv(make([]byte, size)), b.loop.SleepFor(time.Hour))
	receive, send := connecting(s, sender.Receiver[int](&receiver[int]{bed: b})), sending(b, near)
	return func() { receive(); send() }
}

// firstOfTwo receives from two connections together. A message comes from one, and the other receive is cancelled.
func firstOfTwo(b *bed) func() {
	near, far := b.pair()
	_, silent := b.pair()
	s := sender.WhenAny(far.Recv(make([]byte, size)), silent.Recv(make([]byte, size)))
	receive, send := connecting(s, sender.Receiver[int](&receiver[int]{bed: b})), sending(b, near)
	return func() { receive(); send() }
}

func stopped(b *bed) func() {
	_, silent := b.pair()
	s := sender.StopWhen(silent.Recv(make([]byte, size)), b.loop.Nop())
	return connecting(s, sender.Receiver[int](&receiver[int]{bed: b, stopped: true}))
}

// echoByLet runs a client that sends and receives, and a server that receives a lease and then sends it.
func echoByLet(b *bed) func() {
	near, far := b.pair()
	var lease reactor.Lease
	back := sender.Let(far.RecvLease(), func(l reactor.Lease) reactor.SendSender {
		lease = l
		return far.SendAll(l.Bytes())
	})
	s := sender.Then(back, func(n int) int { lease.Release(); return n })
	serve := connecting(s, sender.Receiver[int](&receiver[int]{bed: b}))
	send := sending(b, near)
	receive := connecting(near.Recv(make([]byte, size)), sender.Receiver[int](&receiver[int]{bed: b}))
	return func() { serve(); receive(); send() }
}

// echoByTask runs the same client, and a coroutine as the server.
func echoByTask(b *bed) func() {
	near, far := b.pair()
	b.loop.Spawn(task.New(func(t *task.T) error {
		for {
			lease, err := task.Await(t, far.RecvLease())
			if err != nil {
				return err
			}
			_, err = task.Await(t, far.SendAll(lease.Bytes()))
			lease.Release()
			if err != nil {
				return err
			}
		}
	}))
	send := sending(b, near)
	receive := connecting(near.Recv(make([]byte, size)), sender.Receiver[int](&receiver[int]{bed: b}))
	return func() { receive(); send() }
}

// items runs a multishot receive whose leases are transformed to their lengths.
func items(b *bed) func() {
	near, far := b.pair()
	lengths := seq.Transform(far.RecvMany(reactor.Unlimited), func(l reactor.Lease) int {
		defer l.Release()
		return l.Len()
	}, reactor.Lease.Release)
	each := func(int) error { b.completed(); return nil }
	connecting(seq.ForEach(lengths, each, func(int) {}), sender.Receiver[struct{}](&receiver[struct{}]{bed: b}))()
	return sending(b, near)
}

func repeated(b *bed) func() {
	n := 0
	s := sender.RepeatUntil(b.loop.Nop(), func(struct{}) bool { n++; return n%10 == 0 })
	return connecting(s, sender.Receiver[struct{}](&receiver[struct{}]{bed: b}))
}
