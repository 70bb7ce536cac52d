package conformance

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
)

// patience is how long anything may take before the case is given up. Nothing is expected to.
const patience = 10 * time.Second

// stage is a loop that runs on a goroutine of its own, with what a case puts around it.
type stage struct {
	t        *testing.T
	loop     *reactor.Loop
	leftover func(*reactor.Loop) string
	tid      int
	inside   int               // how deep the loop's thread is in calls that must not complete anything
	sockets  []*reactor.Socket // the loop's
	mu       sync.Mutex
	fds      []int // everybody else's
	ended    chan error
	stopped  bool // Run has returned
}

func (u Suite) open(t *testing.T) *stage {
	t.Helper()
	loop, err := u.New()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, loop: loop, leftover: u.Leftover, ended: make(chan error, 1)}
	up := make(chan struct{})
	go func() {
		s.ended <- loop.Run(func() {
			s.tid = unix.Gettid()
			close(up)
		})
	}()
	<-up
	return s
}

// work is a func as work for a loop.
type work struct {
	sender.Work
	f    func()
	done chan bool
}

func (w *work) Run()     { w.f(); w.done <- true }
func (w *work) Abandon() { w.done <- false }

// do runs f on the loop's thread, in one go, and waits for it.
func (s *stage) do(f func()) {
	s.t.Helper()
	w := &work{f: f, done: make(chan bool, 1)}
	w.Runner = w
	s.loop.Enqueue(&w.Work)
	select {
	case ran := <-w.done:
		if !ran {
			s.t.Fatal("the loop ended early")
		}
	case <-time.After(patience):
		s.t.Fatal("the loop is stuck")
	}
}

// settle lets the loop submit all that was queued and take what came of it, until nothing more comes.
func (s *stage) settle() {
	s.t.Helper()
	for before := ^uint64(0); before != s.loop.Stats().Completions; {
		before = s.loop.Stats().Completions
		for range 3 {
			s.do(func() {})
		}
	}
}

// stop requests stop on the calling thread.
func (s *stage) stop(source *stop.Source) {
	if unix.Gettid() != s.tid {
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
	select {
	case err := <-s.ended:
		s.stopped = true
		if err != nil {
			s.t.Errorf("Run: %v", err)
		}
	case <-time.After(patience):
		buf := make([]byte, 1<<16)
		s.t.Fatalf("Run does not return; the loop's counters are %+v\n%s", s.loop.Stats(), buf[:runtime.Stack(buf, true)])
	}
}

// close closes the sockets, ends the loop and looks at what is left of it.
func (s *stage) close() {
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
			unix.Close(socket.Fd())
		}
	}
	for _, fd := range s.fds {
		unix.Close(fd)
	}
	if st := s.loop.Stats(); st.InFlight != 0 || st.Stale != 0 || st.Leaked != 0 || st.LentBytes != 0 {
		s.t.Errorf("the counters of a loop that has ended: %+v", st)
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
	if tr.out.kind != gotValue {
		s.t.Errorf("closing a socket completed with %v", tr.out)
	}
}

// own makes the stage close fd in the end.
func (s *stage) own(fd int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fds = append(s.fds, fd)
	return fd
}

// adopt gives fd to a new socket of the loop.
func (s *stage) adopt(fd int) *reactor.Socket {
	socket := new(reactor.Socket)
	socket.Init(s.loop, fd)
	s.sockets = append(s.sockets, socket)
	return socket
}

// must is for what has to work for the case to make sense.
func (s *stage) must(err error) {
	if err != nil {
		s.t.Helper()
		s.t.Error(err)
		panic(err)
	}
}

// descriptors is how many the process has.
func descriptors(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func init() { _, _ = os.ReadDir("/proc/self/fd") } // the first one opens the runtime's own
