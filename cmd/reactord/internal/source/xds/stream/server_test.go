package stream

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const method = "/reactord.test.Echo/Stream"

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// call is a stream as the server sees it.
type call struct {
	t *testing.T
	w http.ResponseWriter
	r *http.Request
}

// header sends the header of a good answer.
func (c *call) header() {
	c.w.Header().Set("Content-Type", "application/grpc")
	c.w.WriteHeader(http.StatusOK)
	c.flush()
}

func (c *call) flush() { _ = http.NewResponseController(c.w).Flush() }

// read reads a message. "" and false: there is none any more.
func (c *call) read() (string, bool) {
	var head [prefix]byte
	if _, err := io.ReadFull(c.r.Body, head[:]); err != nil {
		return "", false
	}
	data := make([]byte, binary.BigEndian.Uint32(head[1:]))
	if _, err := io.ReadFull(c.r.Body, data); err != nil {
		return "", false
	}
	m := &wrapperspb.StringValue{}
	if err := proto.Unmarshal(data, m); err != nil {
		c.t.Error(err)
	}
	return m.Value, true
}

// write sends a message.
func (c *call) write(text string) {
	data, err := appendMessage(nil, wrapperspb.String(text))
	if err != nil {
		c.t.Error(err)
	}
	c.raw(data)
}

func (c *call) raw(data []byte) {
	_, _ = c.w.Write(data)
	c.flush()
}

// status ends the stream.
func (c *call) status(code, message string) {
	c.w.Header().Set(http.TrailerPrefix+"Grpc-Status", code)
	c.w.Header().Set(http.TrailerPrefix+"Grpc-Message", message)
}

// echo answers each message with itself.
func echo(c *call) {
	c.header()
	for {
		text, ok := c.read()
		if !ok {
			return
		}
		c.write(text)
	}
}

// testServer is an HTTP/2 server of the standard library.
type testServer struct {
	http.Server
	listener net.Listener
}

// serve serves until the test ends. With tls it does so over TLS.
func serve(t *testing.T, settings *tls.Config, serve func(*call)) *testServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, l, settings, serve)
}

func serveOn(t *testing.T, l net.Listener, settings *tls.Config, serve func(*call)) *testServer {
	t.Helper()
	s := &testServer{listener: l}
	s.Protocols = &http.Protocols{}
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	s.ErrorLog = discard
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(&call{t, w, r}) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		if settings != nil {
			s.TLSConfig = settings
			_ = s.ServeTLS(l, "", "")
		} else {
			_ = s.Serve(l)
		}
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return s
}

// at is the server as clients name it.
func (s *testServer) at() Server {
	return Server{Network: s.listener.Addr().Network(), Address: s.listener.Addr().String()}
}

// config is one with short waits.
func config(servers ...Server) Config {
	return Config{
		Servers: servers, Method: method, ConnectTimeout: patience,
		Backoff: Backoff{Base: time.Millisecond, Max: 10 * time.Millisecond},
	}
}

// run runs until the session function has returned errStop, or has panicked the test.
func run(t *testing.T, c Config, session func(*Stream) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	Run(ctx, c, func(s *Stream) error {
		err := session(s)
		if errors.Is(err, errStop) {
			cancel()
		}
		return err
	})
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Error("it has not happened in time")
	}
}

// errStop ends run.
var errStop = errors.New("stop")

// ask sends a text and receives one.
func ask(s *Stream, text string) (string, error) {
	if err := s.Send(wrapperspb.String(text)); err != nil {
		return "", err
	}
	return receive(s)
}

func receive(s *Stream) (string, error) {
	m := &wrapperspb.StringValue{}
	err := s.Recv(m)
	return m.Value, err
}

// failure is how the first attempt ends.
func failure(t *testing.T, c Config, session func(*Stream) error) (failed error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c.Report = func(s State) {
		if s.Phase == Waiting && failed == nil {
			failed = s.Err
			cancel()
		}
	}
	if session == nil {
		session = func(s *Stream) error {
			_, err := receive(s)
			return err
		}
	}
	Run(ctx, c, session)
	if failed == nil {
		t.Fatal("no attempt has failed in time")
	}
	return failed
}
