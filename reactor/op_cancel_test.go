//go:build linux

package reactor_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/stop"
)

// racer is an operation that can succeed while it is being cancelled, and what makes it succeed.
type racer interface {
	begin(*stop.Source) // starts the operation, on the loop's thread
	happen()            // makes it succeed, on any thread
	wait(*testing.T)    // waits for its completion
	check(*testing.T)   // asserts that nothing was lost
	finish(r *running)  // closes everything
}

// receiver receives in one of three ways a stream of bytes that count up.
type receiver struct {
	s        *reactor.Socket
	peer     int
	how      string
	one      reactor.RecvOp
	lease    reactor.RecvLeaseOp
	many     reactor.RecvManyOp
	buf      []byte
	got      []byte // the loop's
	sent     byte
	ended    result
	written  []byte
	leaseOut *sink[reactor.Lease]
	manyOut  *seqSink[reactor.Lease]
	oneOut   *sink[int]
}

func newReceiver(r *running, how string) *receiver {
	x := &receiver{how: how, buf: make([]byte, 64), ended: newResult()}
	x.s, x.peer = r.pair()
	x.oneOut = sinkOf[int](r.t, x.ended, nil)
	x.oneOut.value = func(n int) {
		x.got = append(x.got, x.buf[:n]...)
		x.ended <- "value"
	}
	x.leaseOut = sinkOf[reactor.Lease](r.t, x.ended, nil)
	x.leaseOut.value = func(l reactor.Lease) {
		x.take(l)
		x.ended <- "value"
	}
	x.manyOut = seqSinkOf(r.t, x.ended, nil, x.take)
	return x
}

func (x *receiver) take(l reactor.Lease) {
	x.got = append(x.got, l.Bytes()...)
	l.Release()
}

func (x *receiver) begin(source *stop.Source) {
	switch x.how {
	case "recv":
		x.oneOut.source = source
		x.s.Recv(x.buf).Connect(&x.one, x.oneOut)
		x.one.Start()
	case "recv lease":
		x.leaseOut.source = source
		x.s.RecvLease().Connect(&x.lease, x.leaseOut)
		x.lease.Start()
	default:
		x.manyOut.source = source
		credit := 2
		if x.how == "recv many, unlimited" {
			credit = reactor.Unlimited
		}
		x.s.RecvMany(credit).Connect(&x.many, x.manyOut)
		x.many.Start()
	}
}

func (x *receiver) happen() {
	b := []byte{x.sent, x.sent + 1}
	x.sent += 2
	if n, err := unix.Write(x.peer, b); n != 2 {
		panic(fmt.Sprint("write: ", n, err))
	}
	x.written = append(x.written, b...)
}

func (x *receiver) wait(t *testing.T) {
	t.Helper()
	select {
	case <-x.ended:
	case <-time.After(patience):
		t.Fatal("an operation that was stopped does not complete")
	}
}

func (x *receiver) check(t *testing.T) {
	t.Helper()
	rest := make([]byte, 1<<16)
	n, _, err := unix.Recvfrom(x.s.Fd(), rest, unix.MSG_DONTWAIT)
	if err != nil {
		n = 0
	}
	if all := append(x.got, rest[:n]...); !bytes.Equal(all, x.written) {
		t.Fatalf("received %v and %v can still be received, of %v", x.got, rest[:n], x.written)
	}
	x.got, x.written = nil, nil
}

func (x *receiver) finish(r *running) {
	r.close(x.s)
	unix.Close(x.peer)
}

// accepter accepts in one of three ways.
type accepter struct {
	*listener
	how      string
	one      reactor.AcceptOp
	many     reactor.AcceptManyOp
	accepted int // the loop's
	dialled  int
	ended    result
	oneOut   *sink[int]
	manyOut  *seqSink[int]
}

func newAccepter(r *running, how string) *accepter {
	x := &accepter{listener: r.listen(), how: how, ended: newResult()}
	x.oneOut = sinkOf[int](r.t, x.ended, nil)
	x.oneOut.value = func(fd int) {
		x.take(fd)
		x.ended <- "value"
	}
	x.manyOut = seqSinkOf(r.t, x.ended, nil, x.take)
	return x
}

func (x *accepter) take(fd int) {
	unix.Close(fd)
	x.accepted++
}

func (x *accepter) begin(source *stop.Source) {
	if x.how == "accept" {
		x.oneOut.source = source
		x.Accept().Connect(&x.one, x.oneOut)
		x.one.Start()
		return
	}
	x.manyOut.source = source
	credit := 3
	if x.how == "accept many, unlimited" {
		credit = reactor.Unlimited
	}
	x.AcceptMany(credit).Connect(&x.many, x.manyOut)
	x.many.Start()
}

func (x *accepter) happen() {
	x.dial()
	x.dialled++
}

func (x *accepter) wait(t *testing.T) {
	t.Helper()
	select {
	case <-x.ended:
	case <-time.After(patience):
		t.Fatal("an operation that was stopped does not complete")
	}
}

func (x *accepter) check(t *testing.T) {
	t.Helper()
	waiting := 0
	for {
		fd, _, err := unix.Accept4(x.Fd(), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		if err != nil {
			break
		}
		unix.Close(fd)
		waiting++
	}
	if x.accepted+waiting != x.dialled {
		t.Fatalf("%d connections were accepted and %d can still be, of %d", x.accepted, waiting, x.dialled)
	}
	x.accepted, x.dialled = 0, 0
	x.hangUp()
}

func (x *accepter) finish(r *running) { r.close(&x.Socket) }

// races plays every racer on every ring.
func races(t *testing.T, play func(t *testing.T, r *running, x racer)) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, how := range []string{
			"recv", "recv lease", "recv many", "recv many, unlimited",
			"accept", "accept many", "accept many, unlimited",
		} {
			t.Run(how, func(t *testing.T) {
				before := descriptors()
				r := run(t, reactor.LoopConfig{Ring: kind, Entries: 4})
				var x racer
				if how[0] == 'r' {
					x = newReceiver(r, how)
				} else {
					x = newAccepter(r, how)
				}
				play(t, r, x)
				x.finish(r)
				r.end()
				if after := descriptors(); after != before {
					t.Errorf("%d descriptors were open before and %d are now", before, after)
				}
			})
		}
	})
}

// The loop is held up between asking for the cancel and entering the ring, and the operation succeeds
// just then. Or it succeeds just before, which the loop does not know yet.
func TestSuccessWhileBeingCancelled(t *testing.T) {
	orders := map[string]func(x racer, source *stop.Source){
		"cancel first":  func(x racer, source *stop.Source) { source.RequestStop(); x.happen() },
		"success first": func(x racer, source *stop.Source) { x.happen(); source.RequestStop() },
		"in between":    func(x racer, source *stop.Source) { x.happen(); source.RequestStop(); x.happen() },
		"in one turn": func(x racer, source *stop.Source) {
			x.begin(source)
			x.happen()
			source.RequestStop()
		},
		"in one turn, happened before": func(x racer, source *stop.Source) {
			x.happen()
			x.begin(source)
			source.RequestStop()
		},
	}
	races(t, func(t *testing.T, r *running, x racer) {
		for name, order := range orders {
			for range 5 {
				source := new(stop.Source)
				if name[:6] != "in one" {
					r.do(func() { x.begin(source) })
					r.settle()
				}
				r.do(func() { order(x, source) })
				x.wait(t)
				x.check(t)
			}
		}
	})
}

// Success and a stop request race each other, each on its own thread, again and again.
func TestSuccessRacesCancel(t *testing.T) {
	const enough = 120 * time.Millisecond // for each operation on each ring
	races(t, func(t *testing.T, r *running, x racer) {
		rnd := rand.New(rand.NewPCG(1, 2))
		rounds := 0
		for began := time.Now(); time.Since(began) < enough; rounds++ {
			source := new(stop.Source)
			acts, spins := rnd.IntN(3), [2]int{rnd.IntN(400), rnd.IntN(400)}
			r.do(func() { x.begin(source) })
			acted := make(chan bool)
			go func() {
				spin(spins[0])
				for range acts {
					x.happen()
				}
				acted <- true
			}()
			spin(spins[1])
			source.RequestStop()
			x.wait(t)
			<-acted
			x.check(t)
		}
		t.Log(rounds, "rounds")
	})
}

func spin(n int) {
	for i := range n {
		if i%64 == 0 {
			runtime.Gosched()
		}
	}
}
