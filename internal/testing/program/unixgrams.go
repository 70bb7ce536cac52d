package program

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/task"
)

// Unixgrams runs tasks that send datagrams to a unix socket, whose reader is slower than they are: its queue is full
// most of the time. What was sent arrives once, whole and in order, and senders that wait do not keep their loop busy.
func Unixgrams(k *simring.Kernel) (check func()) {
	rng := k.Rand()
	u := &unixgrams{k: k, name: "@reader", slowness: time.Duration(1e5 + rng.Int64N(2e7))}
	for range 1 + rng.IntN(4) {
		u.writers = append(u.writers, &unixgramWriter{unixgrams: u, number: len(u.writers), plan: 1 + rng.IntN(20)})
	}
	left := len(u.writers)
	loop := newLoop(k, 256)
	k.Go("reader", u.read)
	u.loops = runLoops(k, []*reactor.Loop{loop}, func(l *reactor.Loop) {
		for _, w := range u.writers {
			w.loop = l
			launch(k, l, w.run, func(*taskRun) { left-- })
		}
	})
	early := rng.IntN(4) == 0
	k.Go("stopper", func(t *simring.Thread) {
		t.Until(u.loops.Up)
		if early {
			t.Sleep(time.Duration(rng.Int64N(int64(100 * time.Millisecond))))
		} else {
			t.Until(func() bool { return left == 0 })
		}
		u.loops.Stop()
	})
	return func() {
		total := 0
		for _, w := range u.writers {
			if w.arrived != w.sent || !early && w.sent != w.plan {
				k.Errorf("writer %d has sent %d of %d datagrams, and %d have arrived", w.number, w.sent, w.plan, w.arrived)
			}
			total += w.plan
		}
		// A writer that waits tries once in a millisecond. Faults repeat other entries.
		waited := int(time.Duration(k.Now()) / time.Millisecond)
		if n, most := int(loop.Stats().Entries), 100*total+4*len(u.writers)*waited; n > most {
			k.Errorf("%d entries for %d datagrams in %d ms", n, total, waited)
		}
	}
}

type unixgrams struct {
	k        *simring.Kernel
	name     string
	slowness time.Duration
	loops    *running
	bound    bool
	writers  []*unixgramWriter
}

// read receives datagrams until the loop has ended and there are no more.
func (u *unixgrams) read(t *simring.Thread) {
	sys := u.k.System()
	fd := -1
	for fd < 0 {
		var err error
		if fd, err = sys.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0); err != nil {
			t.Sleep(time.Millisecond) // until there are descriptors
		}
	}
	defer func() { _ = sys.Close(fd) }()
	if err := sys.Bind(fd, &unix.SockaddrUnix{Name: u.name}); err != nil {
		u.k.Errorf("bind: %v", err)
	}
	u.bound = true
	buf := make([]byte, 64)
	for {
		t.Sleep(time.Duration(u.k.Rand().Int64N(int64(u.slowness))))
		ended := u.loops != nil && u.loops.left == 0
		n, _, err := sys.Recvfrom(fd, buf, unix.MSG_DONTWAIT)
		switch {
		case err == nil:
			u.take(buf[:n])
		case errors.Is(err, unix.EINTR):
		case !errors.Is(err, unix.EAGAIN):
			u.k.Errorf("recvfrom: %v", err)
			return
		case ended:
			return
		}
	}
}

// take takes a datagram in.
func (u *unixgrams) take(b []byte) {
	if len(b) < 2 || int(b[0]) >= len(u.writers) {
		u.k.Errorf("a datagram of % x", b)
		return
	}
	w := u.writers[b[0]]
	if want := w.datagram(w.arrived); string(b) != string(want) {
		u.k.Errorf("writer %d: % x has arrived instead of % x", w.number, b, want)
	}
	w.arrived++
}

// unixgramWriter sends one datagram after the other.
type unixgramWriter struct {
	*unixgrams
	loop          *reactor.Loop
	number        int
	plan          int
	sent, arrived int
	socket        reactor.Socket
}

// datagram returns the i-th datagram.
func (w *unixgramWriter) datagram(i int) []byte {
	b := binary.BigEndian.AppendUint32([]byte{byte(w.number), byte(i)}, uint32(i)*2654435761)
	return b[:2+i%5]
}

func (w *unixgramWriter) run(t *task.T) error {
	for w.socket.Open(w.loop, unix.AF_UNIX, unix.SOCK_DGRAM, 0) != nil { // until there are descriptors
	}
	defer closeAll(w.k, t, &w.socket)
	for !w.bound {
		if _, err := task.Await(t, w.loop.SleepFor(time.Millisecond)); err != nil {
			return err
		}
	}
	to, err := reactor.UnixAddress(w.name)
	if err != nil {
		return err
	}
	if w.k.Rand().IntN(2) == 0 {
		if _, err := task.Await(t, w.socket.DialTo(to)); err != nil {
			return err
		}
		to = reactor.Address{}
	}
	for ; w.sent < w.plan; w.sent++ {
		b := w.datagram(w.sent)
		n, err := w.send(t, b, to)
		if err != nil {
			return err
		}
		if n != len(b) {
			return fmt.Errorf("%d of %d bytes of a datagram were sent", n, len(b))
		}
	}
	return nil
}

// send sends a datagram in one of the ways that there are.
func (w *unixgramWriter) send(t *task.T, b []byte, to reactor.Address) (int, error) {
	switch way := w.k.Rand().IntN(3); {
	case way == 0:
		return task.Await(t, w.socket.SendMsg([][]byte{b[:1], b[1:]}, nil, to))
	case way == 1 && to.IsZero():
		return task.Await(t, w.socket.Send(b))
	default:
		return task.Await(t, w.socket.SendTo(b, to))
	}
}
