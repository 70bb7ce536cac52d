package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server is where a stream may be opened.
type Server struct {
	// Network and Address are those of [net.Dial]: "tcp" and HOST:PORT, or "unix" and a path ("@NAME": an abstract one).
	// A host is looked up for each stream.
	Network, Address string
	// Authority is the authority of requests. Empty: the address, or "localhost" for a unix socket.
	Authority string
	// TLS makes the settings of TLS for a stream; nil: there is no TLS. It is called for each stream, so that it can read
	// files anew, and may block shortly. What it returns is not changed by this package, which offers the protocol "h2" by
	// itself. An empty ServerName is the host of the address.
	TLS func() (*tls.Config, error)
	// Metadata are further headers of requests.
	Metadata []Metadata
}

// String names the server for people.
func (s *Server) String() string {
	if s.Network == "unix" {
		return "unix://" + s.Address
	}
	return s.Address
}

// errNoHTTP2 is the error of a server of TLS that does not choose HTTP/2.
var errNoHTTP2 = errors.New("the server does not speak HTTP/2: it has not chosen the protocol h2")

// window is how many bytes a server may send that were not received. A message can be greater.
const window = 1 << 20

// transport is the HTTP/2 of connections to s.
func (s *Server) transport(ping, timeout time.Duration) *http.Transport {
	protocols := &http.Protocols{}
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Transport{
		Protocols:              protocols,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dial(ctx) },
		DialTLSContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return s.dialTLS(ctx) },
		HTTP2: &http.HTTP2Config{
			SendPingTimeout:           ping,
			PingTimeout:               timeout,
			WriteByteTimeout:          ping + timeout,
			MaxReceiveBufferPerStream: window,
		},
	}
}

func (s *Server) dial(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{KeepAlive: -1} // pings do that
	return d.DialContext(ctx, s.Network, s.Address)
}

func (s *Server) dialTLS(ctx context.Context) (net.Conn, error) {
	settings, err := s.TLS()
	if err != nil {
		return nil, err
	}
	settings = settings.Clone()
	settings.NextProtos = []string{"h2"}
	if host, _, err := net.SplitHostPort(s.Address); err == nil && settings.ServerName == "" {
		settings.ServerName = host
	}
	plain, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(plain, settings)
	if err := conn.HandshakeContext(ctx); err != nil {
		plain.Close()
		return nil, fmt.Errorf("TLS: %w", err)
	}
	if conn.ConnectionState().NegotiatedProtocol != "h2" {
		conn.Close()
		return nil, errNoHTTP2
	}
	return conn, nil
}

// scheme is that of URLs.
func (s *Server) scheme() string {
	if s.TLS != nil {
		return "https"
	}
	return "http"
}

// authority is that of requests.
func (s *Server) authority() string {
	switch {
	case s.Authority != "":
		return s.Authority
	case s.Network == "unix":
		return "localhost"
	}
	return s.Address
}
