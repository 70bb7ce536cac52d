// Package connlimit bounds the connections of HTTP servers.
//
// A bound alone would let idle clients keep all others out. So a connection that arrives at the limit replaces one that
// waits for a request: among the clients with the most connections, the one that has waited longest. Clients are
// counted by address, and in IPv6 by a prefix of 64 bits. A request that is being answered is never interrupted; if all
// connections have one, the new connection is closed.
package connlimit

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Limit bounds the connections of one or several HTTP servers together. Each server needs all three: Listener, Handler
// and ConnContext. Its methods may be called from any goroutine.
type Limit struct {
	max int

	mu   sync.Mutex
	open map[*conn]struct{}
}

// New returns a limit of at most this many connections.
func New(most int) *Limit { return &Limit{max: most, open: map[*conn]struct{}{}} }

// Listener returns a listener whose connections count.
func (l *Limit) Listener(inner net.Listener) net.Listener { return &listener{inner, l} }

// ConnContext adds the connection to the context of its requests, for Handler. It is a hook of [http.Server].
func (l *Limit) ConnContext(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = secure.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// Handler returns a handler that marks the connection as busy while next runs, so that no other one replaces it.
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

// Accept accepts the next connection that the limit admits, and closes others.
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

// conn is a connection that counts towards the limit until it is closed.
type conn struct {
	net.Conn
	limit  *Limit
	prefix netip.Prefix // zero on a unix socket

	// Guarded by the mutex of limit.
	busy  bool      // a request is being answered
	since time.Time // when busy last changed
}

// Accepted returns the connection that counts.
func (c *conn) Accepted() net.Conn { return c.Conn }

// Close closes the connection, which no longer counts.
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

// admit counts a connection and returns it, after closing another one at the limit. It returns nil if all are busy.
func (l *Limit) admit(inner net.Conn) *conn {
	c := &conn{Conn: inner, limit: l, prefix: prefixOf(inner.RemoteAddr()), since: time.Now()}
	l.mu.Lock()
	var out *conn
	if len(l.open) >= l.max {
		if out = l.evictable(); out == nil {
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

// evictable returns the connection to close for a new one, or nil if all are busy.
func (l *Limit) evictable() (found *conn) {
	of := map[netip.Prefix]int{}
	for c := range l.open {
		of[c.prefix]++
	}
	for c := range l.open {
		if c.busy {
			continue
		}
		if found == nil || of[c.prefix] > of[found.prefix] ||
			of[c.prefix] == of[found.prefix] && c.since.Before(found.since) {
			found = c
		}
	}
	return found
}

func prefixOf(a net.Addr) netip.Prefix {
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
