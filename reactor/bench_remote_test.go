//go:build linux

package reactor_test

import (
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/uring"
)

// BenchmarkPostBusy posts from one goroutine to a loop that does not sleep, in batches, compared with the same to a
// goroutine through a buffered channel. Neither side sleeps: what is measured is the way there.
func BenchmarkPostBusy(b *testing.B) {
	const batch = 1024
	batches := func(b *testing.B, ran *atomic.Int64, post func(i int)) {
		b.ReportAllocs()
		b.ResetTimer()
		total := int64(0)
		for range (b.N + batch - 1) / batch {
			for i := range batch {
				post(i)
			}
			for total += batch; ran.Load() != total; {
				runtime.Gosched()
			}
		}
		b.StopTimer()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mposts/s")
	}
	eachRingB(b, func(b *testing.B, kind reactor.RingKind) {
		r := run(b, reactor.LoopConfig{Ring: kind})
		var timer reactor.Timer
		r.do(func() {
			timer.Init(onTimer(func(now int64) { r.SetTimer(&timer, now) }))
			r.SetTimer(&timer, r.Now())
		})
		var ran atomic.Int64
		var pool [batch]*work
		for i := range pool {
			pool[i] = newWork(func() { ran.Add(1) }, nil)
		}
		batches(b, &ran, func(i int) { r.Enqueue(&pool[i].Work) })
		r.do(func() { r.StopTimer(&timer) })
		r.end()
	})
	b.Run("channel", func(b *testing.B) {
		var ran atomic.Int64
		work := make(chan func(), batch)
		go func() {
			for f := range work {
				f()
			}
		}()
		f := func() { ran.Add(1) }
		batches(b, &ran, func(int) { work <- f })
		close(work)
	})
}

// BenchmarkWakeIdle is how long it takes from a post to a loop that sleeps until its work is run, one way, compared
// with a goroutine that waits at a channel, and with a bare thread that waits in epoll_wait(2) for an eventfd: what the
// machine takes to wake a thread up. The thread that posts stays awake.
func BenchmarkWakeIdle(b *testing.B) {
	eachRingB(b, func(b *testing.B, kind reactor.RingKind) {
		r := run(b, reactor.LoopConfig{Ring: kind})
		var l latency
		w := newWork(l.arrived, nil)
		l.measure(b, func() { r.Enqueue(&w.Work) })
		r.end()
	})
	b.Run("channel", func(b *testing.B) {
		var l latency
		work := make(chan bool, 16)
		go func() {
			for range work {
				l.arrived()
			}
		}()
		l.measure(b, func() { work <- true })
		close(work)
	})
	b.Run("channel, locked thread", func(b *testing.B) {
		var l latency
		work := make(chan bool, 16)
		go func() {
			runtime.LockOSThread()
			for range work {
				l.arrived()
			}
		}()
		l.measure(b, func() { work <- true })
		close(work)
	})
	b.Run("eventfd", func(b *testing.B) {
		var l latency
		post, end := bareThread(b, l.arrived)
		l.measure(b, post)
		end()
	})
	b.Run("MSG_RING", func(b *testing.B) {
		need(b, reactor.IOUring)
		var l latency
		post, end := ringToRing(b, l.arrived)
		l.measure(b, post)
		end()
	})
}

// ringToRing waits in an io_uring for a message (IORING_OP_MSG_RING) that the poster's own ring sends.
func ringToRing(b *testing.B, arrived func()) (post, end func()) {
	const message, last = 7, 8
	runtime.LockOSThread()
	from, to := newRing(b, reactor.IOUring), newRing(b, reactor.IOUring)
	gone := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := to.Enable()
		var cqe uring.CQE
		for gone <- err; err == nil; {
			err = to.Enter(-1)
			for to.Pop(&cqe) {
				switch cqe.UserData {
				case message:
					arrived()
				case last:
					gone <- to.Close()
					return
				}
			}
		}
	}()
	if err := errors.Join(<-gone, from.Enable()); err != nil {
		b.Fatal(err)
	}
	fd := to.(*uring.Ring).Fd()
	send := func(userData uint64) {
		var sqe uring.SQE
		sqe.Opcode, sqe.Fd, sqe.Off = 40, int32(fd), userData // IORING_OP_MSG_RING
		from.Push(&sqe)
		if err := from.Enter(0); err != nil {
			b.Error(err)
		}
		var cqe uring.CQE
		for from.Pop(&cqe) {
			if cqe.Res < 0 {
				b.Errorf("MSG_RING: %v", unix.Errno(-cqe.Res))
			}
		}
	}
	return func() { send(message) }, func() {
		send(last)
		if err := errors.Join(<-gone, from.Close()); err != nil {
			b.Error(err)
		}
		runtime.UnlockOSThread()
	}
}

// latency measures how long wake-ups take.
type latency struct {
	sent int64 // the poster's, ns
	took []int64
	seen atomic.Int64 // wake-ups that have arrived
}

var benchStart = time.Now()

func (l *latency) arrived() {
	l.took = append(l.took, int64(time.Since(benchStart))-l.sent)
	l.seen.Add(1)
}

// measure posts and waits, busily, until the other side must be asleep again.
func (l *latency) measure(b *testing.B, post func()) {
	const rest = 100 * time.Microsecond
	l.took = make([]int64, 0, b.N)
	for i := range b.N {
		l.sent = int64(time.Since(benchStart))
		post()
		for l.seen.Load() != int64(i+1) { // not a yield: another goroutine would run here, and no thread be woken
		}
		for now := time.Now(); time.Since(now) < rest; {
		}
	}
	slices.Sort(l.took)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(l.took[len(l.took)/2])/1e3, "p50-µs")
	b.ReportMetric(float64(l.took[len(l.took)*9/10])/1e3, "p90-µs")
}

// bareThread waits for an eventfd on its own thread, as a loop in C would.
func bareThread(b *testing.B, arrived func()) (post, end func()) {
	efd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		b.Fatal(err)
	}
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		err = unix.EpollCtl(epfd, unix.EPOLL_CTL_ADD, efd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET})
	}
	if err != nil {
		b.Fatal(err)
	}
	one := binary.NativeEndian.AppendUint64(nil, 1)
	var last atomic.Bool
	gone := make(chan bool)
	go func() {
		runtime.LockOSThread()
		var events [1]unix.EpollEvent
		for {
			if n, _ := unix.EpollWait(epfd, events[:], -1); n != 1 {
				continue
			}
			if last.Load() {
				close(gone)
				return
			}
			arrived()
		}
	}()
	post = func() {
		if _, err := unix.Write(efd, one); err != nil {
			b.Error(err)
		}
	}
	return post, func() {
		last.Store(true)
		post()
		<-gone
		unix.Close(epfd)
		unix.Close(efd)
	}
}
