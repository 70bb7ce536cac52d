package simring_test

import (
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/uring"
)

// Tests of what entries do run twice: on the kernel, which is right by definition, and on the simulated
// kernel without faults.

// ring is what uring.Ring and simring.Ring have in common.
type ring interface {
	Enable() error
	Push(*uring.SQE)
	Enter(time.Duration) error
	Pop(*uring.CQE) bool
	RegisterBuffers(uint16, []byte, int) error
	ProvideBuffer(group, id uint16)
	RegisterFixedBuffers([][]byte) error
	Overflows() uint64
	Close() error
}

// calls are the system calls next to the ring, as package unix has them.
type calls interface {
	Socket(family, kind, protocol int) (fd int, err error)
	Bind(fd int, sa unix.Sockaddr) error
	Listen(fd, backlog int) error
	Shutdown(fd, how int) error
	Pipe2(fds []int, flags int) error
}

// process is the kernel as calls.
type process struct{}

func (process) Socket(family, kind, protocol int) (int, error) {
	return unix.Socket(family, kind, protocol)
}
func (process) Bind(fd int, sa unix.Sockaddr) error { return unix.Bind(fd, sa) }
func (process) Listen(fd, backlog int) error        { return unix.Listen(fd, backlog) }
func (process) Shutdown(fd, how int) error          { return unix.Shutdown(fd, how) }
func (process) Pipe2(fds []int, flags int) error    { return unix.Pipe2(fds, flags) }

// machine is a ring with the completions that have been taken from it and that no test has waited for yet.
type machine struct {
	*testing.T
	ring ring
	sys  calls
	dir  string // of the test's own
	last uint64
	come map[uint64][]uring.CQE
	keep []any // memory that entries name
}

// onBoth runs a test on the kernel and on the simulation.
func onBoth(t *testing.T, test func(m *machine)) {
	t.Run("kernel", func(t *testing.T) {
		r, err := uring.New(uring.Config{Entries: 64})
		if errors.Is(err, uring.ErrUnavailable) {
			testenv.NeedIOUring(t, err)
		} else if err != nil {
			t.Fatal(err)
		}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer r.Close()
		m := &machine{T: t, ring: r, sys: process{}, dir: t.TempDir(), come: map[uint64][]uring.CQE{}}
		m.must(r.Enable())
		test(m)
	})
	t.Run("simulation", func(t *testing.T) { simulated(t, faultless, test) })
}

// faultless are the odds of a machine on which nothing goes wrong.
var faultless = simring.Odds{
	Latency: 50 * time.Microsecond, Buffer: 1 << 16, Files: 1 << 10, CQ: 1 << 10, Workers: 2, Disk: 1 << 24,
}

func simulated(t *testing.T, odds simring.Odds, test func(m *machine)) {
	err := simring.Play(func(k *simring.Kernel) func() {
		k.Odds = odds
		r := k.NewRing()
		m := &machine{T: t, ring: r, sys: k.System(), dir: "/d", come: map[uint64][]uring.CQE{}}
		k.Go("test", func(*simring.Thread) {
			m.value(0, m.do(func(s *uring.SQE) { s.PrepMkdirat(unix.AT_FDCWD, m.str("/d"), 0o777) }))
			test(m)
			m.must(r.Close())
		})
		return func() {}
	}, 1, simring.Flawless, nil)
	if err != nil {
		t.Error(err)
	}
}

func (m *machine) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

// str returns a string as entries take it, relative to the test's directory if it is not absolute.
func (m *machine) str(s string) unsafe.Pointer {
	b := append([]byte(s), 0)
	m.keep = append(m.keep, b)
	return unsafe.Pointer(&b[0])
}

func (m *machine) path(name string) unsafe.Pointer { return m.str(m.dir + "/" + name) }

func (m *machine) mem(b []byte) (unsafe.Pointer, uint32) {
	m.keep = append(m.keep, b)
	return unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b))
}

// start submits an entry.
func (m *machine) start(prep func(*uring.SQE)) (id uint64) {
	var sqe uring.SQE
	prep(&sqe)
	m.last++
	sqe.UserData = m.last
	m.ring.Push(&sqe)
	m.must(m.ring.Enter(0))
	return m.last
}

// take waits for the next completion of an entry.
func (m *machine) take(id uint64) uring.CQE {
	m.Helper()
	for range 100 {
		var cqe uring.CQE
		for m.ring.Pop(&cqe) {
			m.come[cqe.UserData] = append(m.come[cqe.UserData], cqe)
		}
		if got := m.come[id]; len(got) != 0 {
			m.come[id] = got[1:]
			return got[0]
		}
		m.must(m.ring.Enter(100 * time.Millisecond))
	}
	m.Fatalf("entry %d does not complete", id)
	return uring.CQE{}
}

// pending asserts that an entry has not completed.
func (m *machine) pending(ids ...uint64) {
	m.Helper()
	m.must(m.ring.Enter(time.Millisecond))
	var cqe uring.CQE
	for m.ring.Pop(&cqe) {
		m.come[cqe.UserData] = append(m.come[cqe.UserData], cqe)
	}
	for _, id := range ids {
		if got := m.come[id]; len(got) != 0 {
			m.Errorf("entry %d has completed: %+v", id, got)
		}
	}
}

// do submits an entry and waits for its result.
func (m *machine) do(prep func(*uring.SQE)) int {
	m.Helper()
	return int(m.take(m.start(prep)).Res)
}

func (m *machine) value(want, got int) {
	m.Helper()
	if got != want {
		m.Errorf("the result is %s, not %s", result(got), result(want))
	}
}

func (m *machine) fails(want unix.Errno, got int) {
	m.Helper()
	m.value(-int(want), got)
}

func result(n int) string {
	if n < 0 {
		return unix.ErrnoName(unix.Errno(-n))
	}
	return string(append([]byte("success: "), strings.TrimSpace(itoa(n))...))
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// fd asserts that a result is a descriptor.
func (m *machine) fd(got int) int {
	m.Helper()
	if got < 0 {
		m.Fatal(result(got))
	}
	return got
}

func (m *machine) close(fds ...int) {
	m.Helper()
	for _, fd := range fds {
		m.value(0, m.do(func(s *uring.SQE) { s.PrepClose(fd) }))
	}
}

func (m *machine) socket(family, kind int) int {
	m.Helper()
	fd, err := m.sys.Socket(family, kind, 0)
	m.must(err)
	return fd
}

// inet returns a struct sockaddr_in of the loopback interface.
func inet(port uint16) []byte {
	b := binary.NativeEndian.AppendUint16(nil, unix.AF_INET)
	return append(binary.BigEndian.AppendUint16(b, port), 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)
}

// inet6 returns a struct sockaddr_in6 of it.
func inet6(port uint16) []byte {
	b := binary.NativeEndian.AppendUint16(nil, unix.AF_INET6)
	b = append(binary.BigEndian.AppendUint16(b, port), 0, 0, 0, 0)
	return append(b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0)
}

// named returns a struct sockaddr_un.
func named(name string) []byte {
	return append(binary.NativeEndian.AppendUint16(nil, unix.AF_UNIX), name...)
}

// sockaddr returns a struct sockaddr as package unix has it.
func sockaddr(b []byte) unix.Sockaddr {
	port := int(binary.BigEndian.Uint16(b[2:]))
	switch binary.NativeEndian.Uint16(b) {
	case unix.AF_INET:
		return &unix.SockaddrInet4{Port: port, Addr: [4]byte(b[4:])}
	case unix.AF_INET6:
		return &unix.SockaddrInet6{Port: port, Addr: [16]byte(b[8:])}
	}
	return &unix.SockaddrUnix{Name: strings.Replace(string(b[2:]), "\x00", "@", 1)} // unix says @ for abstract names
}

func (m *machine) bind(fd int, addr []byte) int {
	m.Helper()
	return failure(m.sys.Bind(fd, sockaddr(addr)))
}

func (m *machine) listen(fd, backlog int) int {
	m.Helper()
	return failure(m.sys.Listen(fd, backlog))
}

// shutdownWrite shuts the write side of a socket down.
func (m *machine) shutdownWrite(fd int) {
	m.Helper()
	m.must(m.sys.Shutdown(fd, unix.SHUT_WR))
}

// failure returns an error as the result of an entry.
func failure(err error) int {
	var errno unix.Errno
	errors.As(err, &errno)
	return -int(errno)
}

func (m *machine) connect(fd int, addr []byte) int {
	m.Helper()
	p, n := m.mem(addr)
	return m.do(func(s *uring.SQE) { s.PrepConnect(fd, p, n) })
}

func (m *machine) send(fd int, b string, flags int) int {
	m.Helper()
	p, n := m.mem([]byte(b))
	return m.do(func(s *uring.SQE) { s.PrepSend(fd, p, n, flags|unix.MSG_NOSIGNAL) })
}

func (m *machine) recv(fd, n, flags int) (string, int) {
	m.Helper()
	b := make([]byte, n)
	p, size := m.mem(b)
	res := m.do(func(s *uring.SQE) { s.PrepRecv(fd, p, size, flags) })
	return string(b[:max(min(res, n), 0)]), res
}

// gets asserts what a receive brings.
func (m *machine) gets(want string, fd, n, flags int) {
	m.Helper()
	if got, res := m.recv(fd, n, flags); got != want || res < 0 {
		m.Errorf("received %q, %s, not %q", got, result(res), want)
	}
}

// pair returns a connection by way of a listener, at an address that the kernel has free: ports are tried one after the
// other.
func (m *machine) pair(family int) (a, b int) {
	m.Helper()
	ln := m.socket(family, unix.SOCK_STREAM)
	at := inet
	if family == unix.AF_INET6 {
		at = inet6
	}
	port := m.port(ln, at)
	m.value(0, m.listen(ln, 8))
	a = m.socket(family, unix.SOCK_STREAM)
	m.value(0, m.connect(a, at(port)))
	b = m.fd(m.do(func(s *uring.SQE) { s.PrepAccept(ln, unix.SOCK_CLOEXEC) }))
	m.close(ln)
	return a, b
}

// port binds a socket to a port that is free.
func (m *machine) port(fd int, at func(uint16) []byte) uint16 {
	m.Helper()
	for port := uint16(23000); port < 23500; port++ {
		switch res := m.bind(fd, at(port)); res {
		case 0:
			return port
		case -int(unix.EADDRINUSE):
		default:
			m.Fatal(result(res))
		}
	}
	m.Fatal("no port is free")
	return 0
}

// pipe makes a pipe.
func (m *machine) pipe(flags int) (r, w int) {
	m.Helper()
	fds := make([]int, 2)
	m.must(m.sys.Pipe2(fds, flags))
	return fds[0], fds[1]
}

func (m *machine) write(fd int, b string, off uint64) int {
	m.Helper()
	p, n := m.mem([]byte(b))
	return m.do(func(s *uring.SQE) { s.PrepWrite(fd, p, n, off) })
}

func (m *machine) read(fd, n int, off uint64) (string, int) {
	m.Helper()
	b := make([]byte, n)
	p, size := m.mem(b)
	res := m.do(func(s *uring.SQE) { s.PrepRead(fd, p, size, off) })
	return string(b[:max(res, 0)]), res
}

func (m *machine) reads(want string, fd, n int, off uint64) {
	m.Helper()
	if got, res := m.read(fd, n, off); got != want || res < 0 {
		m.Errorf("read %q, %s, not %q", got, result(res), want)
	}
}
