package simring_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
)

var anyPort = &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}

// connection makes a TCP connection; one thread waits for the other.
func connection(t *testing.T, odds simring.Odds, client, server func(p simring.Process, fd int)) {
	t.Helper()
	err := threads(func(k *simring.Kernel) {
		k.Odds = odds
		p := k.Process()
		must := func(err error) {
			if err != nil {
				k.Errorf("%v", err)
			}
		}
		var addr unix.Sockaddr
		k.Go("server", func(*simring.Thread) {
			ln, err := p.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			must(err)
			must(p.Bind(ln, anyPort))
			must(p.Listen(ln, 1))
			addr, err = p.Getsockname(ln)
			must(err)
			fd, _, err := p.Accept4(ln, 0, nil)
			must(err)
			server(p, fd)
			must(p.Close(fd))
			must(p.Close(ln))
		})
		k.Go("client", func(th *simring.Thread) {
			th.Until(func() bool { return addr != nil })
			th.Sleep(time.Hour)
			fd, err := p.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			must(err)
			must(p.Connect(fd, addr))
			client(p, fd)
			must(p.Close(fd))
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// Calls wait for what other threads do: nothing is asked twice, and no time is said.
func TestCallsWait(t *testing.T) {
	connection(t, faultless, func(p simring.Process, fd int) {
		p.Wait(func() bool { return false }, time.Hour)
		if n, err := p.Write(fd, make([]byte, 1<<20)); n != 1<<20 || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
		if err := p.Shutdown(fd, unix.SHUT_WR); err != nil {
			t.Error(err)
		}
	}, func(p simring.Process, fd int) {
		total, before := 0, p.Clock()
		for {
			n, err := p.Read(fd, make([]byte, 1000))
			if err != nil {
				t.Error(err)
			}
			if total += n; n <= 0 {
				break
			}
		}
		if waited := time.Duration(p.Clock() - before); total != 1<<20 || waited < time.Hour {
			t.Errorf("%d bytes, after %v", total, waited)
		}
	})
}

// What a call has sent is there when it returns, and a call that is not to wait does not.
func TestCallsDeliver(t *testing.T) {
	var theirs int
	connection(t, faultless, func(p simring.Process, fd int) {
		p.Wait(func() bool { return theirs != 0 }, time.Hour)
		buf := make([]byte, 8)
		if n, _, err := p.Recvfrom(theirs, buf, unix.MSG_DONTWAIT); err != unix.EAGAIN {
			t.Errorf("received %d, %v, before anything was sent", n, err)
		}
		if _, err := p.Write(fd, []byte("hello")); err != nil {
			t.Error(err)
		}
		if n, _, err := p.Recvfrom(theirs, buf, unix.MSG_DONTWAIT); n != 5 || err != nil {
			t.Errorf("received %d, %v", n, err)
		}
		theirs = 0
	}, func(p simring.Process, fd int) {
		theirs = fd
		p.Wait(func() bool { return theirs == 0 }, time.Hour)
	})
}

func TestPollTakesItsTime(t *testing.T) {
	connection(t, faultless, func(p simring.Process, fd int) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		before := p.Clock()
		n, err := p.Poll(fds, 1500)
		took := time.Duration(p.Clock() - before)
		if n != 0 || err != nil || took < 1500*time.Millisecond || took > 2*time.Second {
			t.Errorf("%d descriptors were ready after %v, %v", n, took, err)
		}
		if n, _ = p.Poll(fds, 1e6); n != 1 || fds[0].Revents != unix.POLLIN {
			t.Errorf("%d descriptors were ready: %+v", n, fds)
		}
	}, func(p simring.Process, fd int) {
		p.Wait(func() bool { return false }, time.Minute)
		_, _ = p.Write(fd, []byte("hello"))
		p.Wait(func() bool { return false }, time.Minute)
	})
}

// The faults are not for calls of a process.
func TestCallsMeetNoFaults(t *testing.T) {
	odds := faultless
	odds.NoDescriptor, odds.ShortTransfer, odds.AbortedAccept = 1, 1, 1
	connection(t, odds, func(p simring.Process, fd int) {
		if n, err := p.Write(fd, make([]byte, 1000)); n != 1000 || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
		if _, err := p.System.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); err != unix.EMFILE && err != unix.ENFILE {
			t.Errorf("a call that is not spared: %v", err)
		}
	}, func(simring.Process, int) {})
}
