//go:build linux

package reactor_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// patience is how long anything may take before a test is given up. Nothing is expected to.
const patience = 10 * time.Second

// running is a loop that runs on its own goroutine.
type running struct {
	*reactor.Loop
	t     testing.TB
	ended chan error
}

// run runs a loop that the test has to end.
func run(t testing.TB, cfg reactor.LoopConfig) *running {
	t.Helper()
	l, err := reactor.NewLoop(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return runLoop(t, l)
}

func runLoop(t testing.TB, l *reactor.Loop) *running {
	r := &running{Loop: l, t: t, ended: make(chan error, 1)}
	go func() { r.ended <- l.Run(nil) }()
	return r
}

// work is a func as work for a loop.
type work struct {
	sender.Work
	run, abandon func()
}

func newWork(run, abandon func()) *work {
	w := &work{run: run, abandon: abandon}
	w.Runner = w
	return w
}

func (w *work) Run()          { w.run() }
func (w *work) Abandon(error) { w.abandon() }

// do runs f on the loop's thread, in one go, and waits for it.
func (r *running) do(f func()) {
	r.t.Helper()
	done := make(chan bool, 1)
	w := newWork(func() { f(); done <- true }, func() { done <- false })
	r.Enqueue(&w.Work)
	select {
	case ran := <-done:
		if !ran {
			r.t.Fatal("the loop ended early")
		}
	case <-time.After(patience):
		r.t.Fatalf("the loop is stuck: %+v", r.Stats())
	}
}

// settle lets the loop submit what was queued and take what came of it, until nothing more comes.
func (r *running) settle() {
	r.t.Helper()
	for before := ^uint64(0); before != r.Stats().Completions; {
		before = r.Stats().Completions
		for range 3 {
			r.do(func() {})
		}
	}
}

// end stops the loop and expects nothing to be left of it.
func (r *running) end() {
	r.t.Helper()
	r.do(func() {
		if what := r.Leftover(); what != "" {
			r.t.Errorf("left over: %s", what)
		}
	})
	r.Stop()
	if err := r.wait(); err != nil {
		r.t.Errorf("Run: %v", err)
	}
	if st := r.Stats(); st.InFlight != 0 || st.Stale != 0 || st.Leaked != 0 || st.LeasedBytes != 0 {
		r.t.Errorf("the counters of a loop that has ended: %+v", st)
	}
}

// wait waits for Run to return.
func (r *running) wait() error {
	r.t.Helper()
	select {
	case err := <-r.ended:
		return err
	case <-time.After(patience):
		r.t.Fatalf("Run does not return: %+v", r.Stats())
		return nil
	}
}

// sink is a receiver made of funcs. What it has no func for is reported.
type sink[T any] struct {
	t       testing.TB
	source  *stop.Source
	value   func(T)
	failed  func(error)
	stopped func()
}

func (s *sink[T]) SetValue(v T) {
	if s.value == nil {
		s.t.Errorf("completed with value %v", v)
		return
	}
	s.value(v)
}

func (s *sink[T]) SetError(err error) {
	if s.failed == nil {
		s.t.Errorf("completed with error %v", err)
		return
	}
	s.failed(err)
}

func (s *sink[T]) SetStopped() {
	if s.stopped == nil {
		s.t.Error("completed stopped")
		return
	}
	s.stopped()
}

func (s *sink[T]) Env() sender.Env { return (*sinkEnv[T])(s) }

// sinkEnv is a sink as its environment.
type sinkEnv[T any] sink[T]

func (e *sinkEnv[T]) StopToken() stop.Token {
	if e.source == nil {
		return stop.Token{}
	}
	return e.source.Token()
}

func (e *sinkEnv[T]) Scheduler() sender.Scheduler { return nil }
func (e *sinkEnv[T]) Value(any) any               { return nil }

// seqSink is a sink for the items of a sequence.
type seqSink[T any] struct {
	sink[struct{}]
	next     func(T)
	backsOff func(error)
}

func (s *seqSink[T]) SetNext(v T) { s.next(v) }

// OnAcceptBackoff makes it an AcceptBackoffHandler.
func (s *seqSink[T]) OnAcceptBackoff(err error) {
	if s.backsOff != nil {
		s.backsOff(err)
	}
}

// result is how an operation completed, in words; waited for in tests that need no more.
type result chan string

func newResult() result { return make(result, 64) }

// sinkOf is a sink that puts what comes into the result.
func sinkOf[T any](t testing.TB, r result, source *stop.Source) *sink[T] {
	return &sink[T]{t: t, source: source,
		value:   func(v T) { r <- fmt.Sprint(v) },
		failed:  func(err error) { r <- "error: " + err.Error() },
		stopped: func() { r <- "stopped" },
	}
}

// seqSinkOf is the same for a sequence: items are the caller's.
func seqSinkOf[T any](t testing.TB, r result, source *stop.Source, next func(T)) *seqSink[T] {
	return &seqSink[T]{sink: *sinkOf[struct{}](t, r, source), next: next}
}

func (r result) expect(t testing.TB, want string) {
	t.Helper()
	select {
	case got := <-r:
		if got != want {
			t.Errorf("completed with %q, want %q", got, want)
		}
	case <-time.After(patience):
		t.Fatalf("not completed; want %q", want)
	}
}

// none asserts that nothing has completed yet.
func (r result) none(t testing.TB) {
	t.Helper()
	select {
	case got := <-r:
		t.Errorf("completed with %q, too early", got)
	default:
	}
}

// pair is a connected pair of stream sockets: one for the loop and one for the test, which closes it.
func (r *running) pair() (*reactor.Socket, int) {
	r.t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		r.t.Fatal(err)
	}
	s := new(reactor.Socket)
	s.Init(r.Loop, fds[0])
	return s, fds[1]
}

// close closes sockets and waits for that.
func (r *running) close(sockets ...*reactor.Socket) {
	r.t.Helper()
	done := newResult()
	ops := make([]reactor.CloseOp, len(sockets))
	for i, s := range sockets {
		r.do(func() {
			s.Close().Connect(&ops[i], sinkOf[struct{}](r.t, done, nil))
			ops[i].Start()
		})
		done.expect(r.t, "{}")
	}
}

func write(t testing.TB, fd int, b []byte) {
	t.Helper()
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			t.Errorf("write: %v", err)
			return
		}
		b = b[n:]
	}
}

// listener is a listening socket of the loop with connections of the test's to it.
type listener struct {
	reactor.Socket
	t     testing.TB
	addr  unix.Sockaddr
	conns []int
}

func (r *running) listen() *listener {
	r.t.Helper()
	ln := &listener{t: r.t}
	if err := ln.OpenListener(r.Loop, reactor.ListenConfig{Addr: netip.MustParseAddrPort("127.0.0.1:0")}); err != nil {
		r.t.Fatal(err)
	}
	addr, err := unix.Getsockname(ln.Fd())
	if err != nil {
		r.t.Fatal(err)
	}
	ln.addr = addr
	return ln
}

// dial connects.
func (ln *listener) dial() int {
	ln.t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Connect(fd, ln.addr)
	}
	if err != nil {
		ln.t.Fatal(err)
	}
	ln.conns = append(ln.conns, fd)
	return fd
}

// hangUp closes what was dialled.
func (ln *listener) hangUp() {
	for _, fd := range ln.conns {
		unix.Close(fd)
	}
	ln.conns = nil
}

// drain reads until the end, and returns how many bytes that was.
func drain(fd int) (total int) {
	buf := make([]byte, 1<<16)
	for {
		n, err := unix.Read(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return total
		}
		total += n
	}
}
