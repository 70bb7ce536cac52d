//go:build linux

package server

import (
	"fmt"
	"runtime/debug"
)

// leased holds the memory that the handler's Data has, so that it is returned also if Data ends the goroutine.
type leased struct {
	now  piece
	rest []byte // a buffer of the pool, or nil
	seen int    // see Conn.Seen
}

func callOpen(c *Conn)     { c.w.handler.Open(c) }
func callDrain(c *Conn)    { c.w.handler.(DrainHandler).Drain(c) }
func callWritable(c *Conn) { c.w.handler.(WritableHandler).Writable(c) }

// guard calls a function of the program about c. If it panics, or ends the goroutine, the connection is closed.
func (w *worker) guard(c *Conn, f func(*Conn)) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if !w.cfg.NoRecover {
			if v := recover(); v != nil {
				c.crashed(w.panicked(v))
				return
			}
		}
		c.crashed(errGoexit)
	}()
	f(c)
	returned = true
}

// callData calls Data. It returns a panic as a *PanicError.
func (c *Conn) callData(in []byte) (used int, out []byte, err error) {
	returned := false
	w := c.w
	defer func() {
		if returned {
			return
		}
		if !w.cfg.NoRecover {
			if v := recover(); v != nil {
				p := w.panicked(v)
				c.crashed(p)
				used, out, err = len(in), nil, p
				return
			}
		}
		c.crashed(errGoexit)
		c.takeBack()
	}()
	used, out, err = w.handler.Data(c, in, w.scratch[:0])
	if used < 0 || used > len(in) {
		panic(fmt.Sprintf("server: Data used %d of %d bytes: used is how many bytes of in were consumed", used, len(in)))
	}
	returned = true
	return used, out, err
}

// panicked counts and logs a panic.
func (w *worker) panicked(v any) *PanicError {
	p := &PanicError{v, debug.Stack()}
	w.count.panics.Add(1)
	w.cfg.ErrorLog.Error("a handler panicked", "panic", fmt.Sprint(v), "stack", string(p.Stack))
	return p
}

// crashed closes the connection after a panic or a Goexit.
func (c *Conn) crashed(err error) {
	if c.state < connClosing {
		c.abort(err)
	}
}
