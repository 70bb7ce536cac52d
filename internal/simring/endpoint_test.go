package simring

import (
	"errors"
	"io"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Endpoints of two machines talk to each other: each byte comes back, and then the end.
func TestEndpoints(t *testing.T) {
	const clients, size = 50, 100_000
	at := netip.MustParseAddrPort("10.0.0.1:80")
	ended, served := 0, 0
	err := Play(func(k *Kernel) func() {
		k.Odds = Odds{Latency: time.Millisecond, Buffer: 1 << 12, Files: 10, CQ: 8}
		k.SetAddrs(at.Addr())
		there := k.NewMachine("clients")
		there.LinkTo(k).Latency, k.LinkTo(there).Latency = time.Millisecond, 2*time.Millisecond
		a, err := k.Accept(at, func(e *Endpoint) {
			served++
			if e.Local() != at || e.Remote().Addr() != netip.MustParseAddr("198.51.100.7") {
				k.Errorf("a connection from %v to %v", e.Remote(), e.Local())
			}
			var held []byte
			e.Handle(func() {
				for b := make([]byte, 1000); ; {
					n, err := e.Send(held)
					held = held[max(n, 0):]
					if err != nil && !errors.Is(err, unix.EAGAIN) {
						k.Errorf("send: %v", err)
						e.Reset()
						return
					}
					if len(held) > 0 {
						return
					}
					n, err = e.Recv(b)
					if held = append(held, b[:n]...); errors.Is(err, io.EOF) {
						e.Close()
						return
					}
					if n == 0 {
						return
					}
				}
			})
		})
		if err != nil {
			k.Errorf("accept: %v", err)
			return func() {}
		}
		for i := range clients {
			echoed(k, there, netip.AddrPortFrom(netip.MustParseAddr("198.51.100.7"), uint16(2000+i)), at, size, &ended)
		}
		k.Go("end", func(t *Thread) {
			t.Until(func() bool { return ended == clients })
			a.Close()
		})
		return func() {}
	}, 1, Flawless, nil)
	if err != nil || served != clients {
		t.Errorf("%d were served: %v", served, err)
	}
}

// echoed sends bytes, and compares what comes back.
func echoed(k, there *Kernel, from, at netip.AddrPort, size int, ended *int) {
	sent, got := 0, 0
	var e *Endpoint
	e = there.Connect(k, from, at, func() {
		if e.Connecting() {
			return
		}
		b := make([]byte, 700)
		for sent < size {
			for i := range b {
				b[i] = byte(sent + i)
			}
			n, err := e.Send(b[:min(len(b), size-sent)])
			if err != nil {
				break
			}
			if sent += n; sent == size {
				e.CloseWrite()
			}
		}
		for {
			n, err := e.Recv(b)
			for i := range n {
				if b[i] != byte(got+i) {
					k.Errorf("byte %d is %d", got+i, b[i])
				}
			}
			got += n
			if errors.Is(err, io.EOF) {
				if got != size {
					k.Errorf("%d bytes have come back", got)
				}
				*ended++
				e.Close()
				return
			}
			if n == 0 {
				return
			}
		}
	})
}

// A connection is refused, ignored and answered later, and reset.
func TestEndpointFails(t *testing.T) {
	at, from := netip.MustParseAddrPort("10.0.0.1:80"), netip.MustParseAddrPort("198.51.100.7:2000")
	var errs []error
	var times []time.Duration
	err := Play(func(k *Kernel) func() {
		k.Odds = Odds{Latency: time.Millisecond, Buffer: 1 << 12, Files: 10, CQ: 8}
		k.SetAddrs(at.Addr())
		there := k.NewMachine("client")
		try := func() {
			began := k.Elapsed()
			var e *Endpoint
			e = there.Connect(k, from, at, func() {
				if _, err := e.Recv(make([]byte, 1)); !errors.Is(err, unix.EAGAIN) {
					errs, times = append(errs, err), append(times, k.Elapsed()-began)
					e.Close()
				}
			})
		}
		k.Go("driver", func(t *Thread) {
			try()
			t.Until(func() bool { return len(errs) == 1 })
			a, err := k.Accept(at, func(e *Endpoint) { e.Reset() })
			if err != nil {
				k.Errorf("accept: %v", err)
			}
			try()
			t.Until(func() bool { return len(errs) == 2 })
			a.Ignore(true)
			try()
			t.Sleep(500 * time.Millisecond)
			a.Ignore(false)
			t.Until(func() bool { return len(errs) == 3 })
			a.Close()
		})
		return func() {}
	}, 1, Flawless, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{unix.ECONNREFUSED, unix.ECONNRESET, unix.ECONNRESET} {
		if !errors.Is(errs[i], want) || (times[i] > 900*time.Millisecond) != (i == 2) {
			t.Errorf("%d: %v after %v, want %v", i, errs[i], times[i], want)
		}
	}
}
