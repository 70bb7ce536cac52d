package admin

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
)

// reserved is a listener that keeps a descriptor for one connection. So an operator can look into a process that has no
// descriptor left: the kept one is closed, which makes room for the connection, and opened again when that has ended.
type reserved struct {
	net.Listener
	mu   sync.Mutex
	kept *os.File // nil: it is in use, or could not be opened
}

func newReserved(l net.Listener) *reserved {
	r := &reserved{Listener: l}
	r.keep()
	return r
}

// keep opens the descriptor, unless it is open.
func (r *reserved) keep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil {
		r.kept, _ = os.Open(os.DevNull) // if there is none now, the next connection tries again
	}
}

// use closes the descriptor. It reports whether there was one.
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

// Accept accepts a connection, with the reserve if there is no other descriptor.
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

// Close closes the listener, and the reserve.
func (r *reserved) Close() error {
	r.use()
	return r.Listener.Close()
}

// onReserve is a connection that has the descriptor of the reserve.
type onReserve struct {
	net.Conn
	reserve *reserved
	once    sync.Once
}

// Close gives the descriptor back.
func (c *onReserve) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.reserve.keep)
	return err
}
