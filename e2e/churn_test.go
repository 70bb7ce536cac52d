package e2e

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestShortConnections opens 20 000 connections, each for one message. Every one must be answered, counted and closed.
func TestShortConnections(t *testing.T) {
	const (
		connections = 20_000
		workers     = 32
	)
	onEachRing(t, func(t *testing.T, ring string) {
		d := startProxy(t, ring, []string{serve(t, echo), serve(t, echo)})
		eventually(t, "a first connection works", func() bool { return exchange(d.addr, 0) == nil })
		eventually(t, "and has ended", func() bool { return d.connections() == 0 })
		descriptors := d.descriptors()
		before := d.scrape().sum("reactord_listener_connections_total")

		var (
			next   atomic.Int64
			wg     sync.WaitGroup
			failed = make(chan error, workers)
		)
		start := time.Now()
		for range workers {
			wg.Go(func() {
				for i := next.Add(1); i <= connections; i = next.Add(1) {
					if err := exchange(d.addr, int(i)); err != nil {
						failed <- fmt.Errorf("connection %d: %w", i, err)
						return
					}
				}
			})
		}
		wg.Wait()
		close(failed)
		for err := range failed {
			t.Error(err)
		}
		t.Logf("%.0f connections/s", connections/time.Since(start).Seconds())

		if n := d.scrape().sum("reactord_listener_connections_total") - before; n != connections {
			t.Errorf("%.0f connections counted, want %d", n, connections)
		}
		eventually(t, "every connection has ended", func() bool { return d.connections() == 0 })
		eventually(t, "every descriptor is closed", func() bool { return d.descriptors() <= descriptors })
		d.stop()
	})
}

// exchange opens the i-th connection to addr, has a message echoed, and closes it.
//
// It comes from one of a few loopback addresses, so that ports held by TIME_WAIT do not run out.
func exchange(addr string, i int) error {
	dialer := net.Dialer{
		Timeout:   patience,
		LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i%16))},
		Control: func(_, _ string, c syscall.RawConn) (err error) {
			cerr := c.Control(func(fd uintptr) {
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
			})
			if cerr != nil {
				return cerr
			}
			return err
		},
	}
	c, err := dialer.Dial("tcp4", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	message := make([]byte, 128)
	binary.LittleEndian.PutUint64(message, uint64(i))
	if _, err := c.Write(message); err != nil {
		return err
	}
	answer := make([]byte, len(message))
	if _, err := io.ReadFull(c, answer); err != nil {
		return err
	}
	if !bytes.Equal(answer, message) {
		return fmt.Errorf("got %x back for %x", answer, message)
	}
	return nil
}
