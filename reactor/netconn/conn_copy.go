//go:build linux

package netconn

import (
	"io"
	"sync"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender/task"
)

var (
	_ io.WriterTo   = (*Conn)(nil)
	_ io.ReaderFrom = (*Conn)(nil)
)

// WriteTo writes to w what it receives until EOF, out of the buffers of the loop: while nothing arrives it holds none.
//
// If w is a Conn of the same task, the bytes are sent from the memory that they were received into, so io.Copy(c, c) is
// an echo without a copy, and the task sleeps until the end. More is received while something is sent, up to 16 buffers
// of the loop, which are lost if w fails; the end of receiving, for whatever reason, loses nothing. In the task.
func (c *Conn) WriteTo(w io.Writer) (int64, error) {
	c.mustAwait("WriteTo")
	if to, ok := w.(*Conn); ok && to.out == nil && to.t == c.t {
		c.next.what, c.next.t, c.next.to = actFlow, c.t, to
		if _, err := task.Await(c.t, awaiting{c}); err != nil {
			return 0, err // the task has been abandoned
		}
		if h := &c.reading; h.err != errNoStream { //nolint:errorlint // it is not wrapped
			return h.n, h.err
		}
	}
	return c.writeTo(w)
}

// writeTo does the work of WriteTo message by message.
//
//go:noinline
func (c *Conn) writeTo(w io.Writer) (total int64, err error) {
	defer c.unlease(0)
	for {
		c.next.what = actLease
		n, err := c.await()
		if n == 0 {
			return total, err
		}
		n, err = w.Write(c.leased.Bytes())
		total += int64(n)
		if err != nil || c.unlease(n) {
			return total, shortWrite(err)
		}
	}
}

// unlease gives the buffer of WriteTo back, and reports whether more than n bytes were in it.
//
//go:noinline
func (c *Conn) unlease(n int) (more bool) {
	more = c.leased.Len() > n
	c.leased.Release()
	c.leased = reactor.Lease{}
	return more
}

func shortWrite(err error) error {
	if err == nil {
		return io.ErrShortWrite
	}
	return err
}

// copyBuffers are buffers of ReadFrom.
var copyBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// ReadFrom writes what it reads from r until EOF, as io.Copy does, with a buffer that it shares with other Conns. r is
// read on the loop's thread, so it must not block: it may be another Conn. In the task.
func (c *Conn) ReadFrom(r io.Reader) (total int64, err error) {
	c.mustAwait("ReadFrom")
	return readFrom(c, r)
}

func readFrom(w io.Writer, r io.Reader) (total int64, err error) {
	buf := copyBuffers.Get().(*[32 << 10]byte)
	for {
		n, err := r.Read(buf[:])
		if n > 0 {
			sent, err := w.Write(buf[:n])
			total += int64(sent)
			if err != nil {
				return total, err // without Put: an operation that was abandoned may have the buffer
			}
		}
		if err != nil {
			if err == io.EOF {
				copyBuffers.Put(buf)
				err = nil
			}
			return total, err
		}
	}
}
