package e2e

import (
	"slices"
	"syscall"
	"testing"
	"time"
)

// A half-closed connection on which no byte moves ends after its timeout, on both sides.
func TestHalfCloseTimeout(t *testing.T) {
	onEachRing(t, func(t *testing.T, ring string) {
		const limit = 200 * time.Millisecond
		upstream := listen(t)
		d := startProxy(t, ring, []string{upstream.addr()}, "--half-close-timeout", limit.String())
		client := dial(t, d.addr)
		server := upstream.accept()
		start := time.Now()
		client.finish()
		server.expectEOF()
		client.expectGone()
		if took := time.Since(start); took < limit {
			t.Errorf("ended after %v, before the timeout", took)
		}
		eventually(t, "the server's side is ended, too", func() bool {
			_, err := server.Write([]byte{0})
			return err != nil
		})
		d.stop()
	})
}

// An idle connection ends after its timeout. A connection that carries a byte from time to time does not.
func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	onEachRing(t, func(t *testing.T, ring string) {
		const limit = time.Second
		d := startProxy(t, ring, []string{serve(t, echo)}, "--idle-timeout", limit.String())
		idle, busy := dial(t, d.addr), dial(t, d.addr)
		start := time.Now()
		for time.Since(start) < 2*limit {
			busy.send([]byte{1})
			busy.expect([]byte{1})
			time.Sleep(limit / 20)
		}
		idle.expectGone()
		busy.send([]byte("still here"))
		busy.expect([]byte("still here"))
		busy.Close()
		d.stop()
	})
}

// A daemon that was stopped for longer than the idle timeout does not end connections because of that: neither those
// whose bytes wait for it, nor the others.
func TestStoppedForLongerThanTheIdleTimeout(t *testing.T) {
	t.Parallel()
	onEachRing(t, func(t *testing.T, ring string) {
		const limit = 2 * time.Second
		d := startProxy(t, ring, []string{serve(t, echo)}, "--idle-timeout", limit.String())
		var sending, silent []peer
		for range 10 {
			sending, silent = append(sending, dial(t, d.addr)), append(silent, dial(t, d.addr))
		}
		for _, p := range slices.Concat(sending, silent) {
			p.send([]byte("before"))
			p.expect([]byte("before"))
		}
		d.signal(syscall.SIGSTOP)
		eventually(t, "the daemon is stopped", func() bool { return d.state() == "T" })
		for _, p := range sending {
			p.send([]byte("meanwhile"))
		}
		time.Sleep(2 * limit)
		d.signal(syscall.SIGCONT)
		for _, p := range sending {
			p.expect([]byte("meanwhile"))
		}
		time.Sleep(limit / 4) // a client that continues later than the daemon
		for _, p := range silent {
			p.send([]byte("after"))
			p.expect([]byte("after"))
		}
		for _, p := range slices.Concat(sending, silent) {
			p.expectGone() // when it is idle, as usual
		}
		d.stop()
	})
}
