package accesslog

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

const (
	// dialTimeout limits the time to connect, TLS included.
	dialTimeout = 5 * time.Second
	// stallTimeout limits how long a write waits under TLS, where a write that was given up ends the connection.
	stallTimeout = 10 * time.Second
	// maxDatagram is the longest line in bytes that a datagram has: RFC 5426, section 3.2, leaves the limit to the
	// network, and this fits a UDP datagram and the send buffer of a unix socket. Longer lines are cut.
	maxDatagram = 60 << 10
)

// socket sends lines to another program: one per datagram, or in a stream, one after another. It connects when there
// is something to write, and again after an error.
type socket struct {
	ctx       context.Context
	network   string
	address   string
	tls       *config.LogTLS // nil: none
	counted   bool           // a frame has the length of its line: RFC 6587, section 3.4.1; or else lines end by "\n"
	conn      net.Conn       // nil: none
	datagrams bool
	gone      chan struct{} // closed when the other side of a stream has ended it

	// Frames of lines of which not all are sent.
	frames []byte
	ends   []int // of each line's frame
	sent   int   // bytes of frames
}

func newSocket(ctx context.Context, c *config.AccessLog) (*socket, error) {
	s := &socket{ctx: ctx, counted: c.Syslog != config.NoSyslog && c.Syslog != ""}
	switch a := &c.Address; {
	case a.Path != "":
		s.network, s.address = "unixgram", a.Path
	case a.UDP:
		s.network, s.address = "udp", net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port)))
	default:
		s.network, s.address = "tcp", net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port)))
	}
	if c.TLS.Enabled {
		s.tls = &c.TLS
		if _, err := s.tlsConfig(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// tlsConfig reads the files of TLS.
func (s *socket) tlsConfig() (*tls.Config, error) {
	c := config.ClientTLS{
		Enabled: true, CA: s.tls.CA, Cert: s.tls.Cert, Key: s.tls.Key, ServerName: s.tls.ServerName,
		MinVersion: config.TLS12, MaxVersion: config.TLS13,
	}
	if c.ServerName == "" {
		c.ServerName, _, _ = net.SplitHostPort(s.address)
	}
	client, problems := certs.LoadClient(&c, nil)
	if client != nil {
		return client.Config(&c), nil
	}
	errs := make([]error, len(problems))
	for i := range problems {
		errs[i] = fmt.Errorf("tls.%s: %s", problems[i].Key, problems[i].Text)
	}
	return nil, errors.Join(errs...)
}

// dial connects.
func (s *socket) dial() (err error) {
	ctx, cancel := context.WithTimeout(s.ctx, dialTimeout)
	defer cancel()
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	if s.datagrams = s.network == "udp" || s.network == "unixgram"; s.datagrams {
		s.conn = conn
		return nil
	}
	if s.tls != nil {
		c, err := s.tlsConfig()
		if err != nil {
			_ = conn.Close()
			return err
		}
		secure := tls.Client(conn, c)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return err
		}
		conn = secure
	}
	s.conn, s.gone = conn, make(chan struct{})
	go watch(conn, s.gone)
	return nil
}

// connect connects to a unix socket of either type: that of syslog has datagrams, and those of log collectors are
// often streams.
func (s *socket) connect(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, s.network, s.address)
	other := map[string]string{"unixgram": "unix", "unix": "unixgram"}[s.network]
	if other == "" || !errors.Is(err, syscall.EPROTOTYPE) {
		return conn, err
	}
	s.network = other
	return d.DialContext(ctx, s.network, s.address)
}

// watch waits until the other side ends a stream, which no write would notice in time.
func watch(conn net.Conn, gone chan<- struct{}) {
	defer close(gone)
	_, _ = io.Copy(io.Discard, conn)
}

// write implements [target].
func (s *socket) write(lines []byte) (n int, err error) {
	if s.conn != nil && s.ended() {
		s.disconnect()
	}
	if s.conn == nil {
		if err := s.dial(); err != nil {
			return 0, err
		}
	}
	conn, timeout := s.conn, writeTimeout
	if s.tls != nil {
		timeout = stallTimeout
	}
	_ = conn.SetWriteDeadline(time.Now().Add(timeout))
	defer context.AfterFunc(s.ctx, func() { _ = conn.SetWriteDeadline(time.Unix(1, 0)) })()
	if s.datagrams {
		n, err = s.send(lines)
	} else {
		n, err = s.stream(lines)
	}
	if err != nil && (s.tls != nil || !errors.Is(err, os.ErrDeadlineExceeded)) {
		s.disconnect()
	}
	return n, err
}

// ended reports whether the other side has ended a stream.
func (s *socket) ended() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

// send sends each line in a datagram.
func (s *socket) send(lines []byte) (n int, err error) {
	for n < len(lines) {
		length := bytes.IndexByte(lines[n:], '\n')
		if _, err := s.conn.Write(lines[n : n+min(length, maxDatagram)]); err != nil {
			return n, err
		}
		n += length + 1
	}
	return n, nil
}

// stream sends the lines one after another. It returns those that are sent wholly: after an error, the others are sent
// again by the next connection.
func (s *socket) stream(lines []byte) (n int, err error) {
	if len(s.ends) == 0 {
		s.frame(lines)
	}
	sent, err := s.conn.Write(s.frames[s.sent:])
	s.sent += sent
	for len(s.ends) > 0 && s.ends[0] <= s.sent {
		n += bytes.IndexByte(lines[n:], '\n') + 1
		s.ends = s.ends[1:]
	}
	return n, err
}

func (s *socket) frame(lines []byte) {
	s.frames, s.ends, s.sent = s.frames[:0], s.ends[:0], 0
	for line := range bytes.Lines(lines) {
		if s.counted {
			line = line[:len(line)-1]
			s.frames = append(strconv.AppendInt(s.frames, int64(len(line)), 10), ' ')
		}
		s.frames = append(s.frames, line...)
		s.ends = append(s.ends, len(s.frames))
	}
}

// disconnect closes the connection. The next write connects again.
func (s *socket) disconnect() {
	_ = s.close()
	s.conn, s.gone, s.ends = nil, nil, s.ends[:0]
}

// reopen connects again by the next write.
func (s *socket) reopen() (closed, err error) {
	s.disconnect()
	return nil, nil
}

// close implements [target].
func (s *socket) close() error {
	if s.conn == nil {
		return nil
	}
	err := s.conn.Close()
	if s.gone != nil {
		<-s.gone
	}
	return err
}
