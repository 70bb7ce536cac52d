package proxy

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/internal/testing/program"
	"github.com/reactord/reactord/reactor"
)

// As TestClientsThatDoNotReadLeaveBuffersForOthers, with every kind of ring: the clients that do not read, one after
// the other, leave enough for one that is served all the time.
func TestSimulationOfClientsThatDoNotRead(t *testing.T) {
	for seed := range testenv.Seeds(20) {
		err := simring.Play(func(k *simring.Kernel) func() {
			k.Odds = simring.Odds{Latency: 1, Buffer: 128, Files: 1024, CQ: 64, OldKernel: k.Odds.OldKernel}
			s := &simulation{k: k, talk: program.NewTalk(k)}
			s.hog(20)
			return s.check
		}, seed, simring.Flawless, nil)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// hog has so many clients ask for much and read nothing. The server echoes a single byte, and answers two bytes with
// bytes without end.
func (s *simulation) hog(hogs int) {
	k := s.k
	address := netip.MustParseAddrPort("127.0.0.1:9000")
	over, listens := false, false
	k.Go("server", func(t *simring.Thread) {
		ln := t.Listen(address)
		listens = true
		for i := 0; ; i++ {
			fd := t.Accept(ln, func() bool { return over })
			if fd < 0 {
				break
			}
			k.Go(fmt.Sprintf("served%d", i), func(t *simring.Thread) { serveHog(t, k, fd) })
		}
		_ = k.System().Close(ln)
	})
	b := Backend{
		Name: "b", Buffer: 4 * 64, HalfCloseTimeout: time.Hour, IdleTimeout: time.Hour,
		Servers: []Server{{Name: "0", Address: address}},
	}
	loop, err := reactor.NewLoopOn(k.NewRing(), k.System(), reactor.LoopConfig{
		DrainTimeout: time.Hour, Buffers: reactor.BufferConfig{Size: 64, Window: 4, Limit: 64, LargeLimit: -1},
	})
	if err != nil {
		panic(err)
	}
	k.Go("start", func(*simring.Thread) { s.start(roomy(), b, []*reactor.Loop{loop}) })
	hanging, served := 0, false
	dial := func(t *simring.Thread) int {
		t.Until(func() bool { return listens && s.isUp() })
		fd, err := t.Dial(s.proxy.Addrs()[0])
		if err != nil {
			k.Errorf("dial: %v", err)
		}
		return fd
	}
	for i := range hogs {
		k.Go(fmt.Sprintf("hog%d", i), func(t *simring.Thread) {
			fd := dial(t)
			sendAll(t, fd, 2)
			t.Sleep(time.Second)
			hanging++
			t.Until(func() bool { return served })
			t.Reset(fd)
		})
	}
	k.Go("client", func(t *simring.Thread) {
		t.Until(func() bool { return hanging == hogs })
		fd := dial(t)
		for range 100 {
			began := k.Now()
			sendAll(t, fd, 1)
			got, err := readSlowly(t, fd, 1, 1, 100*time.Microsecond)
			if took := time.Duration(k.Now() - began); got != 1 || took > time.Second {
				k.Errorf("%d bytes after %v, %v: %d are leased", got, took, err, leased(s.proxy))
				break
			}
		}
		served, over = true, true
		_ = k.System().Close(fd)
		s.proxy.each((*worker).drain)
	})
}

// serveHog echoes single bytes, and answers two bytes with as many as the client takes.
func serveHog(t *simring.Thread, k *simring.Kernel, fd int) {
	for buf := make([]byte, 2); ; {
		t.Await(fd, false)
		n, err := t.Recv(fd, buf)
		if n <= 0 || err != nil {
			break
		}
		if n == 2 {
			sendAll(t, fd, 1<<30)
			break
		}
		sendAll(t, fd, n)
	}
	_ = k.System().Close(fd)
}
