package admin

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
)

// reserved is a listener that keeps a spare descriptor for one connection, so that an operator can inspect a process
// that is out of descriptors: the spare is closed to make room for the connection, and reopened when that has ended.
type reserved struct {
	net.Listener
	mu   sync.Mutex
	kept *os.File // nil while in use, or if it could not be opened
}

func newReserved(l net.Listener) *reserved {
	r := &reserved{Listener: l}
	r.keep()
	return r
}

// keep opens the spare descriptor, unless it is open.
func (r *reserved) keep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept, _ = os.Open(os.DevNull) // on failure, the next connection tries again
	}
}

// use closes the spare descriptor, and reports whether there was one.
func (r *reserved) use() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		return false
	}
	_ = r.kept.Close()
	r.kept = nil
	return true
}

// Accept accepts a connection, with the spare if no other descriptor is left.
func (r *reserved) Accept() (net.Conn, error) {
	c, err := r.Listener.Accept()
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) || !r.use() {
		return c, err
	}
	if c, err = r.Listener.Accept(); err != nil {
		r.keep()
		return nil, err
	}
	return &onReserve{Conn: c, reserve: r}, nil
}

// Close closes the listener and the spare.
func (r *reserved) Close() error {
	r.use()
	return r.Listener.Close()
}

// onReserve is a connection that uses the spare descriptor.
type onReserve struct {
	net.Conn
	reserve *reserved
	once    sync.Once
}

// Close closes the connection, and restores the spare.
func (c *onReserve) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.reserve.keep)
	return err
}
