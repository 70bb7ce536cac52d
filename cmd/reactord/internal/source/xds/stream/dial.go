package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server is a server for streams.
type Server struct {
	// Network and Address are those of [net.Dial]: "tcp" and HOST:PORT, or "unix" and a path ("@NAME" for an abstract
	// one). A host is resolved for each stream.
	Network, Address string
	// Authority is the authority of requests. Empty means the address, or "localhost" for a unix socket.
	Authority string
	// TLS returns the TLS configuration of a stream; nil disables TLS. It is called for each stream, so that it can
	// read files again, and may block briefly. The result is not modified; this package offers the protocol "h2"
	// itself. An empty ServerName means the host of the address.
	TLS func() (*tls.Config, error)
	// Metadata lists further headers of requests.
	Metadata []Metadata
}

// IsUnix reports whether the server listens on a unix socket.
func (s *Server) IsUnix() bool { return s.Network == "unix" }

// String describes the server for people.
func (s *Server) String() string {
	if s.IsUnix() {
		return "unix://" + s.Address
	}
	return s.Address
}

// errNoHTTP2 is the error of a TLS server that does not negotiate HTTP/2.
var errNoHTTP2 = errors.New("the server does not speak HTTP/2: it did not negotiate h2")

// window limits the bytes in flight from a server. A message can be larger.
const window = 1 << 20

// transport returns an HTTP/2 transport over a connection. calm disables pings, for servers that object to them.
func transport(over net.Conn, c *Config, calm bool) *http.Transport {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true) // TLS, if any, belongs to the connection
	ping := c.PingInterval
	if calm {
		ping = 0
	}
	return &http.Transport{
		Protocols:              protocols,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
		DialContext:            func(context.Context, string, string) (net.Conn, error) { return over, nil },
		HTTP2: &http.HTTP2Config{
			SendPingTimeout:           ping,
			PingTimeout:               c.PingTimeout,
			WriteByteTimeout:          c.PingInterval + c.PingTimeout,
			MaxReceiveBufferPerStream: window,
		},
	}
}

// dial connects.
func (s *Server) dial(ctx context.Context) (*wire, error) {
	d := net.Dialer{KeepAlive: -1} // pings replace it
	if s.TLS == nil {
		plain, err := d.DialContext(ctx, s.Network, s.Address)
		return newWire(plain), err
	}
	tlsConfig, err := s.TLS()
	if err != nil {
		return nil, err
	}
	tlsConfig = tlsConfig.Clone()
	tlsConfig.NextProtos = []string{"h2"}
	if host, _, err := net.SplitHostPort(s.Address); err == nil && tlsConfig.ServerName == "" {
		tlsConfig.ServerName = host
	}
	plain, err := d.DialContext(ctx, s.Network, s.Address)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(plain, tlsConfig)
	if err := conn.HandshakeContext(ctx); err != nil {
		plain.Close()
		return nil, fmt.Errorf("TLS: %w", err)
	}
	if conn.ConnectionState().NegotiatedProtocol != "h2" {
		conn.Close()
		return nil, errNoHTTP2
	}
	return newWire(conn), nil
}

// scheme returns the scheme of URLs.
func (s *Server) scheme() string {
	if s.TLS != nil {
		return "https"
	}
	return "http"
}

// authority returns the authority of requests.
func (s *Server) authority() string {
	switch {
	case s.Authority != "":
		return s.Authority
	case s.IsUnix():
		return "localhost"
	}
	return s.Address
}

// wire is a connection that records when its server was last heard, and why it rejected TLS. In TLS 1.3, the
// rejection follows the handshake, when HTTP/2 may only notice that it cannot write.
type wire struct {
	net.Conn
	first   chan struct{}         // closed when a byte was received, or none will be
	once    sync.Once             // guards the close of first
	heard   atomic.Int64          // when a byte was last received, in ns since epoch; 0 for never
	refusal atomic.Pointer[error] // the server's TLS alert, or nil
}

func newWire(over net.Conn) *wire { return &wire{Conn: over, first: make(chan struct{})} }

// lastWords bounds the wait for an alert of a server that has sent nothing else.
const lastWords = 50 * time.Millisecond

// Read reads from the connection.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.heard.Store(int64(time.Since(epoch)))
	}
	if of, ok := errors.AsType[*net.OpError](err); ok && of.Op == "remote error" {
		err := fmt.Errorf("the server rejected TLS: %w", of.Err)
		w.refusal.CompareAndSwap(nil, &err)
	}
	if n > 0 || err != nil {
		w.once.Do(func() { close(w.first) })
	}
	return n, err
}

// epoch is the origin of wire times, on the monotonic clock.
var epoch = time.Now()

// silent returns how long ago the last byte was received.
func (w *wire) silent() time.Duration { return time.Since(epoch) - time.Duration(w.heard.Load()) }

// Close closes the connection.
func (w *wire) Close() error {
	if _, secure := w.Conn.(*tls.Conn); secure && w.heard.Load() == 0 && w.refusal.Load() == nil {
		_ = w.SetReadDeadline(time.Now().Add(lastWords))
		_, _ = w.Read(make([]byte, 1))
	}
	return w.Conn.Close()
}

// explain returns the rejection, or else the error.
func (w *wire) explain(err error) error {
	if refusal := w.refusal.Load(); refusal != nil {
		return *refusal
	}
	return err
}
