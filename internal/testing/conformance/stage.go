package conformance

import (
	"runtime"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testing/counters"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
	"github.com/reactord/reactord/sender/stop"
)

// stage is a loop that runs on its own thread, with the descriptors of the case.
type stage struct {
	host
	t        *testing.T
	loop     *reactor.Loop
	leftover func(*reactor.Loop) string
	tid      int
	inside   int               // how deep the loop's thread is in calls that must not complete anything
	sockets  []*reactor.Socket // the loop's
	mu       sync.Mutex
	fds      []int // those of the peers
	ended    signal
	err      error // Run's, once it has ended
	stopped  bool  // that has been waited for
}

func (u Suite) open(t *testing.T, h host) *stage {
	t.Helper()
	loop, err := h.newLoop()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{host: h, t: t, loop: loop, leftover: u.Leftover, ended: h.newSignal()}
	up := h.newSignal()
	h.spawn("loop", func() {
		s.err = loop.Run(func() {
			s.tid = h.thread()
			up.raise()
		})
		s.ended.raise()
	})
	up.wait()
	return s
}

// work is a function that a loop runs.
type work struct {
	sender.Work
	f    func()
	ran  bool
	done signal
}

func (w *work) Run()          { w.f(); w.ran = true; w.done.raise() }
func (w *work) Abandon(error) { w.done.raise() }

// do runs f on the loop's thread, without interruption, and waits for it.
func (s *stage) do(f func()) {
	s.t.Helper()
	w := &work{f: f, done: s.newSignal()}
	w.Runner = w
	s.loop.Enqueue(&w.Work)
	if !w.done.wait() {
		s.t.Fatal("the loop is stuck")
	}
	if !w.ran {
		s.t.Fatal("the loop ended early")
	}
}

// settle lets the loop submit its entries and take their completions, until there are no more.
func (s *stage) settle() {
	s.t.Helper()
	for before := ^uint64(0); before != s.loop.Stats().Completions; {
		before = s.loop.Stats().Completions
		s.deliver()
		for range 3 {
			s.do(func() {})
		}
	}
}

// stop requests stop on the calling thread.
func (s *stage) stop(source *stop.Source) {
	if s.thread() != s.tid {
		source.RequestStop()
		return
	}
	s.inside++
	source.RequestStop()
	s.inside--
}

// wait waits for Run to return.
func (s *stage) wait() {
	s.t.Helper()
	if !s.ended.wait() {
		buf := make([]byte, 1<<16)
		s.t.Fatalf("Run does not return; the loop's counters are %+v\n%s", s.loop.Stats(), buf[:runtime.Stack(buf, true)])
	}
	s.stopped = true
	if s.err != nil {
		s.t.Errorf("Run: %v", s.err)
	}
}

// end closes the sockets, stops the loop, and asserts that nothing is left.
func (s *stage) end() {
	s.t.Helper()
	if !s.stopped {
		s.settle()
		for _, socket := range s.sockets {
			if socket.Fd() >= 0 {
				s.closeSocket(socket)
			}
		}
		if s.leftover != nil {
			s.do(func() {
				if what := s.leftover(s.loop); what != "" {
					s.t.Errorf("left over: %s", what)
				}
			})
		}
		s.loop.Stop()
		s.wait()
	}
	for _, socket := range s.sockets {
		if socket.Pending() != 0 {
			s.t.Errorf("a socket has %d operations in flight", socket.Pending())
		}
		if socket.Fd() >= 0 {
			_ = s.Close(socket.Fd())
		}
	}
	for _, fd := range s.fds {
		_ = s.Close(fd)
	}
	if wrong := counters.Check(s.loop.Stats()); wrong != "" {
		s.t.Error(wrong)
	}
}

func (s *stage) closeSocket(socket *reactor.Socket) {
	s.t.Helper()
	tr := newTrace(s)
	op := new(reactor.CloseOp)
	s.do(func() {
		socket.Close().Connect(op, &receiver[struct{}]{trace: tr})
		tr.begin(op.Start)
	})
	tr.await()
	if tr.last.Channel != sendertest.OnValue {
		s.t.Errorf("closing a socket completed with %v", tr.last)
	}
}

// own makes the stage close fd in the end.
func (s *stage) own(fd int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fds = append(s.fds, fd)
	return fd
}

// disown closes fd immediately.
func (s *stage) disown(fd int) {
	s.mu.Lock()
	if i := slices.Index(s.fds, fd); i >= 0 {
		s.fds = slices.Delete(s.fds, i, i+1)
	}
	s.mu.Unlock()
	_ = s.Close(fd)
}

// adopt gives fd to a new socket of the loop.
func (s *stage) adopt(fd int) *reactor.Socket {
	_, err := s.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_RDWR|unix.O_NONBLOCK)
	s.must(err)
	socket := new(reactor.Socket)
	socket.Init(s.loop, fd)
	s.sockets = append(s.sockets, socket)
	return socket
}

// must ends the case if a call of its setup fails.
func (s *stage) must(err error) {
	if err != nil {
		s.t.Helper()
		s.t.Error(err)
		panic(err)
	}
}
