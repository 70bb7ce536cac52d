package e2e

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// streams are connections whose ends send each other random bytes of known seeds, and compare those that come, until
// they are told to end. A server of streams echoes what is none.
type streams struct {
	t      *testing.T
	server string        // its address
	pause  time.Duration // the longest one between two frames of messages
	stop   chan struct{} // no end sends a further frame
	served []chan error  // of each stream
	all    sync.WaitGroup
}

// stream is one of them. What its ends do follows from the seed, which is its index.
type stream struct {
	*streams
	seed uint64
}

// streamKind says what the ends of a stream do.
type streamKind uint64

// The kinds, in the order of seeds.
const (
	messages    streamKind = iota // mostly short frames
	bulks                         // large frames, which are spliced
	slowReaders                   // both ends send more than they read, so that the buffers are full; see mostSlow
	clientEnds                    // the client half-closes at once, and receives
	serverEnds                    // the server half-closes at once, and receives
	quiet                         // a frame now and then
	streamKinds
)

// helloByte begins a stream.
const helloByte = 's'

// newStreams starts the server of so many streams. A machine with two cores has time for other things beside them.
func newStreams(t *testing.T, n int) *streams {
	t.Helper()
	s := &streams{t: t, pause: time.Duration(n) * 400 * time.Microsecond, stop: make(chan struct{})}
	for range n {
		s.served = append(s.served, make(chan error, 1))
	}
	s.server = serve(t, s.serve)
	return s
}

// serve serves a connection.
func (s *streams) serve(c *net.TCPConn) {
	var hello [9]byte
	if _, err := io.ReadFull(c, hello[:1]); err != nil {
		return
	}
	if hello[0] != helloByte {
		if _, err := c.Write(hello[:1]); err == nil {
			echo(c)
		}
		return
	}
	if _, err := io.ReadFull(c, hello[1:]); err != nil {
		s.t.Errorf("the beginning of a stream: %v", err)
		return
	}
	one := stream{s, binary.BigEndian.Uint64(hello[1:])}
	s.served[one.seed] <- one.run(c, 1)
}

// start connects the clients.
func (s *streams) start(addr string) {
	s.t.Helper()
	s.t.Cleanup(s.all.Wait) // behind the closing of the connections, if the test has failed
	for i := range s.served {
		c := dial(s.t, addr).TCPConn
		one := stream{s, uint64(i)}
		s.all.Go(func() {
			err := writeSoon(c, binary.BigEndian.AppendUint64([]byte{helloByte}, one.seed))
			if err == nil {
				err = one.run(c, 0)
			}
			if err == nil {
				err = <-s.served[i]
			}
			if err != nil && !errors.Is(err, net.ErrClosed) { // it is closed if the test has failed
				s.t.Errorf("%v: %v", one, err)
			}
			c.Close()
		})
	}
}

// end lets the streams end, and returns when both ends of each have.
func (s *streams) end() {
	close(s.stop)
	s.all.Wait()
}

// mostSlow bounds the streams that fill their buffers: the kernel's memory for all of TCP is limited.
const mostSlow = 40

func (s stream) kind() streamKind {
	kind := streamKind(s.seed) % streamKinds
	if kind == slowReaders && s.seed >= mostSlow*uint64(streamKinds) {
		return messages
	}
	return kind
}

func (s stream) String() string { return fmt.Sprintf("stream %d of kind %d", s.seed, s.kind()) }

// run sends and receives at an end, 0 for the client and 1 for the server, until both ends have sent their last frame
// and EOF.
func (s stream) run(c *net.TCPConn, end byte) error {
	results := make(chan error, 2)
	for _, do := range []func() error{
		func() error { return s.send(c, end) }, func() error { return s.receive(c, 1-end) },
	} {
		go func() {
			err := do()
			if err != nil {
				c.Close() // ends the other one, too
			}
			results <- err
		}()
	}
	return cmp.Or(<-results, <-results) // the first failure is the cause
}

// streamWait bounds how long a stream may stand still. A slow reader on a busy machine takes its time.
const streamWait = 4 * patience

// slowest bounds how long a slow reader sleeps, so that a frame arrives within streamWait.
const slowest = 500 * time.Millisecond

// sleep waits, but not after the end.
func (s stream) sleep(d time.Duration) (stopped bool) {
	select {
	case <-s.stop:
		return true
	case <-time.After(d):
		return false
	}
}

// contents are the bytes that an end sends.
func (s stream) contents(end byte) *rand.ChaCha8 {
	seed := [32]byte{31: end}
	binary.BigEndian.PutUint64(seed[:], s.seed)
	return rand.NewChaCha8(seed)
}

// send sends frames, each a length and so many bytes. The last one is empty, and EOF comes behind it.
func (s stream) send(c *net.TCPConn, end byte) error {
	rng, contents, kind := rand.New(rand.NewPCG(s.seed, uint64(end))), s.contents(end), s.kind()
	pause := s.pause
	switch kind {
	case bulks:
		pause *= 100
	case slowReaders:
		pause = 1
	case quiet:
		pause *= 50
	}
	last := kind == clientEnds && end == 0 || kind == serverEnds && end == 1
	var frame []byte
	for !last {
		size := 1 + rng.IntN(1<<rng.IntN(16))
		if kind == bulks || kind == slowReaders && rng.IntN(4) == 0 {
			size = 1 << 20
		}
		frame = append(binary.BigEndian.AppendUint32(frame[:0], uint32(size)), make([]byte, size)...)
		_, _ = contents.Read(frame[4:])
		if err := writeSoon(c, frame); err != nil {
			return fmt.Errorf("sending: %w", err)
		}
		last = s.sleep(time.Duration(rng.Int64N(int64(pause))))
	}
	return errors.Join(writeSoon(c, make([]byte, 4)), c.CloseWrite())
}

// writeSoon writes, within streamWait.
func writeSoon(c net.Conn, b []byte) error {
	_ = c.SetWriteDeadline(time.Now().Add(streamWait))
	_, err := c.Write(b)
	return err
}

// receive receives what the other end sends, and its EOF.
func (s stream) receive(c *net.TCPConn, from byte) error {
	contents := s.contents(from)
	total, got, want := 0, make([]byte, 64<<10), make([]byte, 64<<10)
	read := func(b []byte) error {
		_ = c.SetReadDeadline(time.Now().Add(streamWait))
		n, err := io.ReadFull(c, b)
		total += n
		if err != nil {
			err = fmt.Errorf("after %d bytes: %w", total, err)
		}
		return err
	}
	for {
		var head [4]byte
		if err := read(head[:]); err != nil {
			return err
		}
		left := int(binary.BigEndian.Uint32(head[:]))
		if left == 0 {
			break
		}
		for left > 0 {
			g, w := got[:min(left, len(got))], want[:min(left, len(got))]
			if err := read(g); err != nil {
				return err
			}
			if _, _ = contents.Read(w); !bytes.Equal(g, w) {
				return fmt.Errorf("wrong bytes from %d on", total-len(g)+mismatch(g, w))
			}
			left -= len(g)
			if s.kind() == slowReaders {
				s.sleep(min(10*s.pause, slowest))
			}
		}
	}
	if n, err := c.Read(got[:1]); n != 0 || err != io.EOF {
		return fmt.Errorf("%d bytes instead of EOF behind %d, %w", n, total, err)
	}
	return nil
}
