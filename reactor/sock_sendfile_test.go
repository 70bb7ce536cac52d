//go:build linux

package reactor_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/stop"
)

func TestSendFile(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		text, f := sendable(r)
		size := int64(len(text))
		for _, part := range []struct{ off, n, want int64 }{
			{0, -1, size}, {0, size, size}, {5, 10, 10}, {size - 3, 10, 3}, {size, -1, 0}, {0, 0, 0}, {1000, 1 << 20, 1 << 20},
		} {
			s, peer := r.pair()
			got := make(chan []byte, 1)
			go func() { got <- slurp(peer) }()
			if n := must[int64](r, s.SendFile(f, part.off, part.n), new(reactor.SendFileOp)); n != part.want {
				t.Errorf("%+v: %d bytes were sent", part, n)
			}
			r.close(s)
			if b := <-got; !bytes.Equal(b, text[part.off:part.off+part.want]) {
				t.Errorf("%+v: %d bytes have come, or not the right ones", part, len(b))
			}
			unix.Close(peer)
		}
		r.closeFiles(f)
	})
}

// What was sent before a stop is reported, and the rest can be sent from there.
func TestSendFileStops(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		text, f := sendable(r)
		s, peer := r.pair()
		source, sent := new(stop.Source), make(chan int64, 1)
		op := new(reactor.SendFileOp)
		r.do(func() {
			s.SendFile(f, 0, -1).Connect(op, &sink[int64]{t: t, source: source, value: func(n int64) { sent <- n }})
			op.Start()
		})
		if testenv.Poll(t, peer, unix.POLLIN, patience) == 0 {
			t.Fatal("nothing arrives")
		}
		source.RequestStop()
		n := <-sent
		if n <= 0 || n >= int64(len(text)) {
			t.Fatalf("%d bytes were sent", n)
		}
		got := make(chan []byte, 1)
		go func() { got <- slurp(peer) }()
		if m := must[int64](r, s.SendFile(f, n, -1), op); n+m != int64(len(text)) {
			t.Errorf("%d and %d bytes were sent", n, m)
		}
		r.close(s)
		if b := <-got; !bytes.Equal(b, text) {
			t.Errorf("%d bytes have come, or not the right ones", len(b))
		}
		unix.Close(peer)
		r.closeFiles(f)
	})
}

func TestSendFileEnds(t *testing.T) {
	eachRunning(t, func(t *testing.T, r *running) {
		_, f := sendable(r)
		s, peer := r.pair()
		fillPipe(t, s.Fd())
		source, op := new(stop.Source), new(reactor.SendFileOp)
		res := begin[int64](r, s.SendFile(f, 0, -1), op, source)
		source.RequestStop()
		res.expect(t, "stopped")
		res = begin[int64](r, s.SendFile(f, 0, -1), op, nil)
		res.none(t)
		r.close(s)
		res.expect(t, "error: use of a closed descriptor")
		unix.Close(peer)

		s, peer = r.pair()
		fillPipe(t, s.Fd())
		res = begin[int64](r, s.SendFile(f, 0, -1), op, nil)
		r.closeFiles(f)
		res.expect(t, "error: use of a closed descriptor")

		_, f = sendable(r)
		unix.Close(peer)
		o := finish[int64](r, s.SendFile(f, 0, -1), op)
		if !errors.Is(o.err, syscall.EPIPE) && !errors.Is(o.err, syscall.ECONNRESET) {
			t.Errorf("sending to a closed peer completed with %v", o)
		}
		r.close(s)
		r.closeFiles(f)
	})
}

// sendable is a file that is larger than what a socket holds.
func sendable(r *running) ([]byte, *reactor.File) {
	r.t.Helper()
	text := make([]byte, 3<<20+17)
	for i := range text {
		text[i] = byte(uint32(i) * 2654435761 >> 13)
	}
	path := filepath.Join(r.t.(*testing.T).TempDir(), "file")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		r.t.Fatal(err)
	}
	return text, r.open(path, os.O_RDONLY)
}

// slurp reads to the end.
func slurp(fd int) []byte {
	b, _ := io.ReadAll(readerFunc(func(p []byte) (int, error) {
		for {
			n, err := unix.Read(fd, p)
			switch {
			case err == unix.EINTR:
			case err != nil:
				return 0, err
			case n == 0:
				return 0, io.EOF
			default:
				return n, nil
			}
		}
	}))
	return b
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
