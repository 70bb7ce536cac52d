package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// roleEnv has the test binary play a process of a test.
const roleEnv = "REACTORD_TEST_ROLE"

func TestMain(m *testing.M) {
	if play, ok := roles[os.Getenv(roleEnv)]; ok {
		play()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// patience bounds every wait for something that should happen soon.
const patience = 15 * time.Second

// roles are the processes of tests.
var roles = map[string]func(){
	"exit":  func() { os.Exit(3) },
	"crash": func() { _ = unix.Kill(os.Getpid(), unix.SIGKILL); time.Sleep(patience) },
	"hang":  func() { time.Sleep(time.Minute) },
	"wrapper": func() { // as a script that starts the program and waits for it
		startChild()
		time.Sleep(time.Minute)
	},
	"orphan": func() { // as a script that starts the program in the background, and fails
		startChild()
		os.Exit(3)
	},
	"deaf": func() { // takes its sockets, and then does nothing
		if _, err := Inherit(); err != nil {
			panic(err)
		}
		time.Sleep(time.Minute)
	},
	"fail": func() {
		g, err := Inherit()
		if err != nil {
			panic(err)
		}
		g.Fail(errors.New("the file is wrong:\nline 7"))
	},
	"serve": func() {
		g, err := Inherit()
		if err != nil {
			panic(err)
		}
		if err := clean(); err != nil {
			g.Fail(err)
			return
		}
		sockets := g.Sockets()
		g.Ready(time.Hour)
		greet(sockets)
	},
	"ask": func() { // says to all processes before it who it is, and what it takes each of them for
		g, err := Inherit()
		if err != nil {
			panic(err)
		}
		g.Ready(time.Hour)
		for _, p := range g.Predecessors() {
			c, err := p.Dial()
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(c, "%d %d\n", os.Getpid(), p.PID)
		}
		time.Sleep(time.Minute)
	},
	"older version": func() { // which closes the socket when the predecessor has confirmed
		f := os.NewFile(firstFD, "predecessor")
		if err := json.NewDecoder(f).Decode(&struct{}{}); err != nil {
			panic(err)
		}
		_, _ = f.WriteString("ready\n")
		_, _ = f.Read(make([]byte, 1))
		_ = f.Close()
		time.Sleep(time.Minute)
	},
}

// startChild starts a process that hangs, with the descriptors of this one.
func startChild() {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), roleEnv+"=hang")
	child.ExtraFiles = []*os.File{os.NewFile(firstFD, "predecessor"), os.NewFile(firstFD+1, "socket")}
	if err := child.Start(); err != nil {
		panic(err)
	}
}

// clean is an error if the environment has what only this process may see.
func clean() error {
	for _, v := range append([]string{successorEnv, "WATCHDOG_PID"}, managerEnv...) {
		if _, is := os.LookupEnv(v); is {
			return fmt.Errorf("%s is in the environment", v)
		}
	}
	return nil
}

// greet greets each client with the process id and the name of the socket, for a while.
func greet(sockets []Socket) {
	for _, s := range sockets {
		if err := unkept(s.FD); err != nil {
			panic(err)
		}
		f := os.NewFile(uintptr(s.FD), s.Name)
		l, err := net.FileListener(f)
		if err != nil {
			panic(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					panic(err)
				}
				fmt.Fprintf(c, "%d %s\n", os.Getpid(), s.Name)
				c.Close()
			}
		}()
	}
	time.Sleep(time.Minute)
}

// confirm lets a successor continue, and returns the listener for its connections.
func confirm(t *testing.T, s *Successor) net.Listener {
	t.Helper()
	l, err := s.Confirm(func(fd, _, _ int) { _ = unix.Close(fd) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// unkept is an error if a descriptor blocks, or is inherited by further programs.
func unkept(fd int) error {
	mode, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || mode&unix.O_NONBLOCK == 0 {
		return fmt.Errorf("descriptor %d blocks (%v)", fd, err)
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		return fmt.Errorf("descriptor %d is inherited (%v)", fd, err)
	}
	return nil
}

// listen opens a listening socket.
func listen(t *testing.T, name string) (Socket, string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	at := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := errors.Join(unix.Bind(fd, at), unix.Listen(fd, 100)); err != nil {
		t.Fatal(err)
	}
	a, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return Socket{name, fd}, net.JoinHostPort("127.0.0.1", strconv.Itoa(a.(*unix.SockaddrInet4).Port))
}

// greeting is what a server at addr says.
func greeting(t *testing.T, addr string) (pid int, name string) {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := fmt.Fscan(c, &pid, &name); err != nil {
		t.Fatal(err)
	}
	return pid, name
}

// program is the test binary in a role.
func program(t *testing.T, role string) *Program {
	t.Helper()
	t.Setenv(roleEnv, role)
	p := NewProgram()
	return p
}

func context10s(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// manager is a service manager's end of NOTIFY_SOCKET.
type manager struct {
	t        *testing.T
	fd       int
	messages chan string
	fds      chan int
}

// newManager is a manager to which this process, and those that it starts, talk.
func newManager(t *testing.T) *manager {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrUnix{Name: path})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", path)
	m := &manager{t: t, fd: fd, messages: make(chan string, 1000), fds: make(chan int, 1000)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.read()
	}()
	t.Cleanup(func() {
		_ = notify("END")
		<-ended
		_ = unix.Close(fd)
		for len(m.fds) > 0 {
			_ = unix.Close(<-m.fds)
		}
	})
	return m
}

func (m *manager) read() {
	for {
		text, rights := make([]byte, 4096), make([]byte, 2048)
		n, r, _, _, err := unix.Recvmsg(m.fd, text, rights, unix.MSG_CMSG_CLOEXEC)
		if err != nil {
			m.messages <- err.Error()
			return
		}
		message := string(text[:n])
		if message == "END" {
			return
		}
		controls, _ := unix.ParseSocketControlMessage(rights[:r])
		for _, c := range controls {
			fds, _ := unix.ParseUnixRights(&c)
			for _, fd := range fds {
				if message == "BARRIER=1" {
					_ = unix.Close(fd)
				} else {
					m.fds <- fd
				}
			}
		}
		m.messages <- message
	}
}

// next is the next message.
func (m *manager) next() string {
	m.t.Helper()
	select {
	case text := <-m.messages:
		return text
	case <-time.After(patience):
		m.t.Fatal("no further message")
		return ""
	}
}

// expect checks that the next message has the lines.
func (m *manager) expect(lines ...string) {
	m.t.Helper()
	got := m.next()
	for _, line := range lines {
		if !slices.Contains(strings.Split(got, "\n"), line) {
			m.t.Errorf("the message %q has no line %q", got, line)
		}
	}
}
