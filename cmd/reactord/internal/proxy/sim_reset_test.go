package proxy

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// A server resets while a part of what it is sent is on its way. The kernel tells that once: when the send
// is told, which has moved a part and so says how much, nobody else is, and to the receive it looks like
// an end. The client must be reset nevertheless. Which of the two is told is for the seed to say.
func TestSimulationOfAResetBehindAPart(t *testing.T) {
	told := map[string]int{}
	for seed := range uint64(50) {
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
	if told["reset"] != 50 {
		t.Errorf("the client saw %v, want 50 resets", told)
	}
}

// resetMidway has a client send more than there is room for to a server that reads nothing and resets.
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
		fd, err := t.Dial(s.proxy.addrs[0])
		if err != nil {
			k.Errorf("dial: %v", err)
			return
		}
		saw(sendUntilOver(t, fd))
		_ = k.System().Close(fd)
		s.proxy.each((*worker).drain)
	})
}

// sendUntilOver sends on and on, and says how the other side ended that.
func sendUntilOver(t *simring.Thread, fd int) string {
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
