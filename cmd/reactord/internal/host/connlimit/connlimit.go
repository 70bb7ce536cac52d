// Package connlimit bounds the connections of HTTP servers.
//
// A bound alone would let idle clients keep all others out. So a connection that arrives when there is no room takes
// the place of one that waits for a request: of the source that has most connections, the one that has waited longest.
// A source is an address, and in IPv6 a prefix of 64 bits. A request that is being answered is never interrupted; if
// all connections have one, the new connection is closed.
package connlimit

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Limit bounds the connections of one or several HTTP servers together. Each of them needs all three: the listener, the
// handler, and ConnContext. Its methods may be called from any goroutine.
type Limit struct {
	most int

	mu   sync.Mutex
	open map[*conn]struct{}
}

// New returns a limit of most connections.
func New(most int) *Limit { return &Limit{most: most, open: map[*conn]struct{}{}} }

// Listener returns a listener whose connections count.
func (l *Limit) Listener(inner net.Listener) net.Listener { return &listener{inner, l} }

// ConnContext is the hook of an [http.Server] by which its handler finds the connection.
func (l *Limit) ConnContext(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = secure.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// Handler returns a handler during whose calls a connection is not closed for another one.
func (l *Limit) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*conn); ok {
			l.setBusy(c, true)
			defer l.setBusy(c, false)
		}
		next.ServeHTTP(w, r)
	})
}

type connKey struct{}

type listener struct {
	net.Listener
	limit *Limit
}

// Accept accepts the next connection that finds room.
func (l *listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.limit.admit(inner); c != nil {
			return c, nil
		}
		_ = inner.Close()
	}
}

// conn is a connection that counts until it is closed.
type conn struct {
	net.Conn
	limit  *Limit
	source netip.Prefix // zero on a unix socket

	busy  bool      // a request is being answered; both are guarded by the lock of limit
	since time.Time // when that began or ended
}

// Close closes the connection, which leaves its room to another one.
func (c *conn) Close() error {
	c.limit.mu.Lock()
	delete(c.limit.open, c)
	c.limit.mu.Unlock()
	return c.Conn.Close()
}

func (l *Limit) setBusy(c *conn, busy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.busy, c.since = busy, time.Now()
}

// admit makes room for a connection and counts it, or returns nil.
func (l *Limit) admit(inner net.Conn) *conn {
	c := &conn{Conn: inner, limit: l, source: sourceOf(inner.RemoteAddr()), since: time.Now()}
	l.mu.Lock()
	var out *conn
	if len(l.open) >= l.most {
		if out = l.dispensable(); out == nil {
			l.mu.Unlock()
			return nil
		}
		delete(l.open, out)
	}
	l.open[c] = struct{}{}
	l.mu.Unlock()
	if out != nil {
		_ = out.Conn.Close()
	}
	return c
}

// dispensable returns the connection that is closed for another one, or nil if each is busy.
func (l *Limit) dispensable() (found *conn) {
	of := map[netip.Prefix]int{}
	for c := range l.open {
		of[c.source]++
	}
	for c := range l.open {
		if c.busy {
			continue
		}
		if found == nil || of[c.source] > of[found.source] ||
			of[c.source] == of[found.source] && c.since.Before(found.since) {
			found = c
		}
	}
	return found
}

func sourceOf(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap()
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.WithZone("").Prefix(bits) // bits is in range
	return p
}
