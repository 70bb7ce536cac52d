package blackbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// party is a client or a server of a case. Its steps run one after the other, but for those in the background.
type party struct {
	name     string
	stream   uint64 // tells its stream from the other party's
	other    *party
	board    *board
	dial     Dial             // the client connects with it
	listener *net.TCPListener // the server accepts from it
	conn     *net.TCPConn
	sent     int          // of the stream
	received int          // of the other party's stream
	flooded  atomic.Int64 // bytes of the last flood
}

// run runs a script. It closes the connection at its end.
func (p *party) run(ctx context.Context, script []step) error {
	defer func() {
		if p.conn != nil {
			p.conn.Close()
		}
	}()
	var background sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	do := func(s *step) bool {
		err := p.do(ctx, s)
		if err == nil {
			return true
		}
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, fmt.Errorf("%s: line %d: %s: %w", p.name, s.line, s.text, err))
		return false
	}
	for i := range script {
		s := &script[i]
		if s.background {
			background.Go(func() { do(s) })
			continue
		}
		if s.verb == "wait" {
			background.Wait()
			continue
		}
		if !do(s) {
			break
		}
	}
	background.Wait()
	return errors.Join(errs...)
}

func (p *party) do(ctx context.Context, s *step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch s.verb {
	case "connect", "accept":
		return p.open(ctx, s.verb)
	case "pause":
		return pause(ctx, s.time)
	case "signal":
		p.board.signal(s.name)
		return nil
	case "await":
		return p.board.await(ctx, s.name)
	}
	if p.conn == nil {
		return errors.New("there is no connection: connect or accept first")
	}
	return p.act(ctx, s)
}

// act carries out an action on the connection. It ends early if the case has failed meanwhile.
func (p *party) act(ctx context.Context, s *step) error {
	stop := context.AfterFunc(ctx, func() { _ = p.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	switch s.verb {
	case "send":
		return p.send(p.next(s), 64<<10)
	case "dribble":
		return p.send(p.next(s), 1)
	case "urgent":
		return p.urgent(p.next(s))
	case "flood":
		return p.flood()
	case "expect":
		return p.expect(s)
	case "expect flood":
		return p.expect(&step{size: int(p.other.flooded.Load())})
	case "expect line":
		return p.line()
	case "expect eof":
		return p.end(func(n int64, err error) bool { return n == 0 && err == nil })
	case "expect reset":
		return p.end(func(_ int64, err error) bool { return errors.Is(err, syscall.ECONNRESET) })
	case "expect gone":
		return p.end(func(_ int64, err error) bool { return err == nil || errors.Is(err, syscall.ECONNRESET) })
	case "expect silence":
		return p.silence(s.time)
	case "shutdown":
		return p.conn.CloseWrite()
	case "shutdown-read":
		return p.conn.CloseRead()
	case "reset":
		_ = p.conn.SetLinger(0)
		return p.conn.Close()
	case "close":
		return p.conn.Close()
	}
	return fmt.Errorf("%s is not implemented", s.verb)
}

func (p *party) open(ctx context.Context, verb string) error {
	if verb == "connect" {
		c, err := p.dial(ctx)
		if err != nil {
			return err
		}
		p.conn = c.(*net.TCPConn)
		return nil
	}
	if err := p.listener.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.listener.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	c, err := p.listener.AcceptTCP()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	p.conn = c
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// next returns the bytes that a step sends.
func (p *party) next(s *step) []byte {
	if s.data != nil {
		return s.data
	}
	b := streamAt(p.stream, p.sent, s.size)
	p.sent += s.size
	return b
}

// send sends b in pieces.
func (p *party) send(b []byte, piece int) error {
	for len(b) != 0 {
		_ = p.conn.SetWriteDeadline(time.Now().Add(patience))
		n, err := p.conn.Write(b[:min(piece, len(b))])
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// urgent sends b, with its last byte as urgent data.
func (p *party) urgent(b []byte) error {
	raw, err := p.conn.SyscallConn()
	if err != nil {
		return err
	}
	_ = p.conn.SetWriteDeadline(time.Now().Add(patience))
	var n int
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		n, failed = unix.SendmsgN(int(fd), b, nil, nil, unix.MSG_OOB)
		return !errors.Is(failed, unix.EAGAIN)
	})
	if failed == nil && n != len(b) {
		failed = fmt.Errorf("sent %d bytes of %d", n, len(b))
	}
	return errors.Join(err, failed)
}

// flood sends until the proxy and the kernel take no more.
func (p *party) flood() error {
	const piece = 64 << 10
	for total := 0; total < dataSize; {
		_ = p.conn.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
		n, err := p.conn.Write(streamAt(p.stream, p.sent, piece))
		p.sent, total = p.sent+n, total+n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			p.flooded.Store(int64(total))
			return nil
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("%d bytes were taken, and none of them was read: memory is not bounded", dataSize)
}

// expect receives what s says.
func (p *party) expect(s *step) error {
	want := s.data
	if want == nil {
		want = streamAt(p.other.stream, p.received, s.size)
		p.received += s.size
	}
	buf := make([]byte, 256<<10)
	for at := 0; at < len(want); {
		_ = p.conn.SetReadDeadline(time.Now().Add(patience))
		n, err := p.conn.Read(buf[:min(len(buf), len(want)-at)])
		if got := buf[:n]; !bytes.Equal(got, want[at:at+n]) {
			return fmt.Errorf("received %.40q at byte %d, want %.40q", got, at, want[at:at+n])
		}
		if at += n; err != nil && at < len(want) {
			return fmt.Errorf("received %d bytes of %d: %w", at, len(want), err)
		}
	}
	return nil
}

// line receives until CRLF, and not more.
func (p *party) line() error {
	_ = p.conn.SetReadDeadline(time.Now().Add(patience))
	var line []byte
	for b := make([]byte, 1); !bytes.HasSuffix(line, []byte("\r\n")); line = append(line, b[0]) {
		if _, err := io.ReadFull(p.conn, b); err != nil {
			return fmt.Errorf("received %q and: %w", line, err)
		}
	}
	return nil
}

// end receives until the connection ends, in the way that is wanted.
func (p *party) end(wanted func(n int64, err error) bool) error {
	_ = p.conn.SetReadDeadline(time.Now().Add(patience))
	n, err := io.Copy(io.Discard, p.conn)
	switch {
	case wanted(n, err):
		return nil
	case err == nil:
		return fmt.Errorf("received %d bytes and EOF", n)
	default:
		return fmt.Errorf("received %d bytes and: %w", n, err)
	}
}

func (p *party) silence(d time.Duration) error {
	_ = p.conn.SetReadDeadline(time.Now().Add(d))
	if n, err := p.conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("received %d bytes and: %w", n, errors.Join(err))
	}
	return nil
}

// streamAt returns n bytes of a stream, from an offset on: the offset of each 8 bytes, mixed (splitmix64).
func streamAt(stream uint64, from, n int) []byte {
	b := make([]byte, n)
	var word uint64
	for i := range b {
		at := uint64(from + i)
		if i == 0 || at%8 == 0 {
			word = mix(stream<<56 + at/8)
		}
		b[i] = byte(word >> (at % 8 * 8))
	}
	return b
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
