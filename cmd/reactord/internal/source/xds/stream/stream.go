package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"
)

// Stream is an open stream to a server.
type Stream struct {
	server *Server
	conf   *Config
	ctx    context.Context
	cancel context.CancelCauseFunc
	wire   *wire
	conn   *http.ClientConn

	out  *io.PipeWriter
	sent []byte // buffer of the last message, reused

	answer   chan answer // receives the one answer
	received atomic.Uint64
	over     chan struct{} // closed by the first Recv that fails

	receiving sync.Mutex   // guards the fields below; held by Recv
	in        reader       // its from is nil before the answer
	trailers  *http.Header // of the response, valid once its body has ended
	end       error        // of the first Recv that failed
}

// answer is the result of RoundTrip, once the server has sent headers, which may be as late as its first message.
type answer struct {
	response *http.Response
	err      error
}

// errStreamEnded is the cause when this side closes a stream.
var errStreamEnded = errors.New("stream closed")

// open connects to a server, and sends the header of a request. ctx is that of the stream. calm disables pings.
func open(ctx context.Context, c *Config, server *Server, calm bool) (*Stream, error) {
	header := http.Header{
		"Content-Type": {"application/grpc"},
		"Te":           {"trailers"},
		"User-Agent":   {c.UserAgent},
	}
	if err := add(server.Metadata, header); err != nil {
		return nil, err
	}
	dialing, cancelDial := context.WithTimeoutCause(ctx, c.ConnectTimeout,
		fmt.Errorf("no connection within %v", c.ConnectTimeout))
	defer cancelDial()
	over, err := server.dial(dialing)
	if err != nil {
		if cause := context.Cause(dialing); cause != nil {
			err = cause
		}
		return nil, err
	}
	conn, err := transport(over, c, calm).NewClientConn(dialing, "http", "server:0") // already connected
	if err != nil {
		over.Close()
		return nil, over.explain(err)
	}
	select {
	case <-over.first: // HTTP/2 begins with the server's settings
	case <-dialing.Done(): // the kernel accepts connections for a server that hangs
		_ = conn.Close()
		return nil, fmt.Errorf("the server accepted the connection but sends nothing: %w", context.Cause(dialing))
	}
	s := &Stream{server: server, conf: c, wire: over, conn: conn, answer: make(chan answer, 1), over: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.in = reader{limit: c.MaxMessage, stalled: s.stalled}
	in, out := io.Pipe()
	s.out = out
	request := (&http.Request{
		Method: http.MethodPost, Header: header, Body: in, ContentLength: -1, Host: server.authority(),
		URL: &url.URL{Scheme: server.scheme(), Host: server.authority(), Path: c.Method},
	}).WithContext(s.ctx)
	// HTTP/2 does not notice a done context while it waits for the next message to send.
	context.AfterFunc(s.ctx, func() {
		_ = out.CloseWithError(context.Cause(s.ctx))
		_ = conn.Close()
	})
	go func() {
		response, err := conn.RoundTrip(request)
		if err != nil {
			in.Close() // HTTP/2 does so, unless it rejected the request
		}
		s.answer <- answer{response, err}
	}()
	if calm {
		go s.probe()
	}
	return s, nil
}

// Heard returns when anything, even a sign of life, was last received. It may be called from any goroutine.
func (s *Stream) Heard() time.Time { return time.Now().Add(-s.wire.silent()) }

// stalled returns a timer that ends the stream if a part of a message takes too long.
func (s *Stream) stalled() *time.Timer {
	patience := s.conf.PingInterval + s.conf.PingTimeout
	return time.AfterFunc(patience, func() {
		s.cancel(fmt.Errorf("message stalled: less than %d KiB received within %v", chunk>>10, patience))
	})
}

// probe sends requests as signs of life while the server is silent; the answers do not matter.
func (s *Stream) probe() {
	c := s.conf
	for s.ctx.Err() == nil {
		if wait := c.PingInterval - s.wire.silent(); wait > 0 {
			sleep(s.ctx, wait)
			continue
		}
		ctx, end := context.WithTimeout(s.ctx, c.PingTimeout)
		request := (&http.Request{
			Method: http.MethodPost, Host: s.server.authority(), ContentLength: int64(len(empty)),
			Header: http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "User-Agent": {c.UserAgent}},
			Body:   io.NopCloser(strings.NewReader(empty)),
			URL:    &url.URL{Scheme: s.server.scheme(), Host: s.server.authority(), Path: "/grpc.health.v1.Health/Check"},
		}).WithContext(ctx)
		if response, err := s.conn.RoundTrip(request); err == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, keep))
			response.Body.Close()
		}
		end()
		if s.wire.silent() >= c.PingInterval {
			s.cancel(fmt.Errorf("connection lost: no answer to a request within %v", c.PingTimeout))
		}
	}
}

// empty is an empty message with its prefix.
const empty = "\x00\x00\x00\x00\x00"

// Server returns the name of the server for people.
func (s *Stream) Server() string { return s.server.String() }

// Context returns a context that is done when the stream is closed: its function has returned, or Run's context is
// done.
func (s *Stream) Context() context.Context { return s.ctx }

// Received returns the number of messages received. It may be called from any goroutine.
func (s *Stream) Received() uint64 { return s.received.Load() }

// errSend reports a stream that can no longer be sent to.
var errSend = errors.New("stream ended")

// Send sends a message. It waits while the server does not read. m may be modified once it returns. After an error
// the stream is useless. The error of Recv says why; a session may return either, since Run reports that of Recv.
func (s *Stream) Send(m proto.Message) error {
	sent, err := appendMessage(s.sent[:0], m)
	if err != nil {
		return err
	}
	if s.sent = sent; cap(sent) > keep {
		s.sent = nil
	}
	if _, err = s.out.Write(sent); err != nil {
		return fmt.Errorf("%w: %w", errSend, s.explain(err))
	}
	return nil
}

// Recv waits for a message and decodes it into m, replacing its content. When the server ends the stream, even
// without a fault, the error is an [*Error]. After an error, such as of a message that cannot be decoded, each call
// returns the same one.
func (s *Stream) Recv(m proto.Message) error {
	s.receiving.Lock()
	defer s.receiving.Unlock()
	if s.end != nil {
		return s.end
	}
	err := s.receive(m)
	if err != nil {
		s.end = err
		close(s.over)
	}
	return err
}

// receive receives a message, and discards it if m is nil.
func (s *Stream) receive(m proto.Message) error {
	if s.in.from == nil {
		if err := s.begin(); err != nil {
			return err
		}
	}
	data, err := s.in.next()
	if errors.Is(err, io.EOF) {
		return ended(*s.trailers)
	}
	if err != nil {
		return s.explain(err)
	}
	if m == nil {
		return nil
	}
	err = proto.Unmarshal(data, m)
	s.in.release()
	if err != nil {
		return fmt.Errorf("cannot decode message: %w", err)
	}
	s.received.Add(1)
	return nil
}

// begin waits for the header of the response.
func (s *Stream) begin() error {
	var a answer
	select {
	case a = <-s.answer:
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
	if a.err != nil {
		return s.explain(a.err)
	}
	if err := answered(a.response); err != nil {
		return err
	}
	s.in.from, s.trailers = a.response.Body, &a.response.Trailer
	return nil
}

// grace bounds the wait for the reason after a Send has failed.
const grace = time.Second

// reason returns why sending to a stream failed: what Recv returns. The session has returned, but its Recv may still
// be running.
func (s *Stream) reason() error {
	defer time.AfterFunc(grace, func() { s.cancel(errSend) }).Stop()
	if s.receiving.TryLock() {
		defer s.receiving.Unlock()
		for s.end == nil {
			s.end = s.receive(nil)
		}
		return s.end
	}
	select {
	case <-s.over:
		return s.end
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// explain returns why the stream was closed, or else a description of err.
func (s *Stream) explain(err error) error {
	if cause := context.Cause(s.ctx); cause != nil {
		return cause
	}
	return s.wire.explain(explain(err, s.conf.PingTimeout))
}

// Close ends the stream, with pending calls of Send and Recv. Run does so when its session returns.
func (s *Stream) Close() {
	s.cancel(errStreamEnded)
	_ = s.out.CloseWithError(errStreamEnded)
	_ = s.conn.Close()
}
