package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// A server resets while bytes for it are in flight. The kernel reports that once. If it tells the send, which has moved
// a part of the bytes and therefore reports their number, then no other operation is told, and the receive completes
// with EOF. The client must be reset nevertheless. The seed decides which of the two is told.
func TestSimulationOfAResetBehindAPart(t *testing.T) {
	told := map[string]int{}
	seeds := testenv.Seeds(50)
	for seed := range seeds {
		err := simring.Play(func(k *simring.Kernel) func() {
			k.Odds = simring.Odds{Latency: 1, Buffer: 1 << 10, Files: 64, CQ: 64}
			s := &simulation{k: k, talk: program.NewTalk(k)}
			s.resetMidway(func(how string) { told[how]++ })
			return s.check
		}, seed, simring.Flawless, nil)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if told["reset"] != int(seeds) {
		t.Errorf("the client saw %v, want %d resets", told, seeds)
	}
}

// A server answers, sends EOF and resets later, while the client still sends: the answer arrives, whatever happens to
// the bytes of the client.
func TestSimulationOfAnAnswerBeforeAReset(t *testing.T) {
	const answer = 5000
	for _, after := range []time.Duration{0, time.Microsecond, time.Millisecond, time.Second, time.Minute} {
		b := Backend{Buffer: 1 << 14, IdleTimeout: time.Hour, HalfCloseTimeout: time.Hour}
		playIdling(t, b, calm(1<<13), func(s *idling) {
			s.server = func(t *simring.Thread, fd int) {
				if got, err := readSlowly(t, fd, 100, 100, time.Microsecond); got != 100 {
					s.k.Errorf("the server got %d bytes and %v", got, err)
				}
				sendAll(t, fd, answer)
				_ = s.k.System().Shutdown(fd, unix.SHUT_WR)
				t.Sleep(after)
				t.Reset(fd)
			}
			s.client = func(t *simring.Thread, fd int) {
				for full := false; !full; {
					_, err := t.Send(fd, make([]byte, 1000))
					full = err != nil
				}
				if got, err := readSlowly(t, fd, answer, 100, time.Millisecond); got != answer {
					s.k.Errorf("a reset after %v: the client got %d bytes of %d and %v", after, got, answer, err)
				}
			}
		})
	}
}

// resetMidway has a client send more bytes than there is room for, to a server that reads nothing and resets.
func (s *simulation) resetMidway(saw func(string)) {
	k := s.k
	address := netip.MustParseAddrPort("127.0.0.1:9000")
	listens := false
	k.Go("server", func(t *simring.Thread) {
		ln := t.Listen(address)
		listens = true
		fd := t.Accept(ln, func() bool { return false })
		t.Sleep(time.Millisecond)
		t.Reset(fd)
		_ = k.System().Close(ln)
	})
	b := Backend{Name: "b", Buffer: 1 << 14, HalfCloseTimeout: time.Hour, IdleTimeout: time.Hour,
		Servers: []Server{{Name: "0", Address: address}}}
	loops := []*reactor.Loop{program.NewLoop(k)}
	k.Go("start", func(*simring.Thread) { s.start(roomy(), b, loops) })
	k.Go("client", func(t *simring.Thread) {
		t.Until(func() bool { return listens && s.isUp() })
		fd, err := t.Dial(s.proxy.Addrs()[0])
		if err != nil {
			k.Errorf("dial: %v", err)
			return
		}
		saw(sendUntilEnd(t, fd))
		_ = k.System().Close(fd)
		s.proxy.each((*worker).drain)
	})
}

// sendUntilEnd sends until the connection has ended, and returns how the other side ended it.
func sendUntilEnd(t *simring.Thread, fd int) string {
	for piece := make([]byte, 100); ; t.Sleep(time.Microsecond) {
		_, err := t.Send(fd, piece)
		if errors.Is(err, unix.ECONNRESET) {
			return "reset"
		}
		n, err := t.Recv(fd, piece)
		switch {
		case errors.Is(err, unix.ECONNRESET):
			return "reset"
		case !errors.Is(err, unix.EAGAIN):
			return fmt.Sprintf("%d, %v", n, err)
		}
	}
}
