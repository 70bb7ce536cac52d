package stream

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"
)

var discard = log.New(io.Discard, "", 0)

func TestMessagesGoBothWays(t *testing.T) {
	s := serve(t, nil, echo)
	long := strings.Repeat("x", window+window/2) // more than the window, and than what is kept
	run(t, config(s.at()), func(s *Stream) error {
		for i := range 100 {
			text := fmt.Sprint("message ", i)
			if i == 50 {
				text = long
			}
			if got, err := ask(s, text); got != text || err != nil {
				t.Fatalf("got %.20q, %v, want %.20q", got, err, text)
			}
		}
		if got := s.Received(); got != 100 {
			t.Errorf("received %d, want 100", got)
		}
		return errStop
	})
}

func TestRequestHasHeaders(t *testing.T) {
	got := make(chan *http.Request, 1)
	s := serve(t, nil, func(c *call) {
		got <- c.r
		echo(c)
	})
	at := s.at()
	at.Authority = "control.example"
	at.Metadata = []Metadata{{Key: "x-consul-token", Value: "secret"}, {Key: "empty"}}
	c := config(at)
	c.UserAgent = "reactord/1.2.3"
	run(t, c, func(s *Stream) error {
		ask(s, "x")
		return errStop
	})
	r := <-got
	if r.URL.Path != method || r.Method != http.MethodPost || r.Host != "control.example" || r.ProtoMajor != 2 {
		t.Errorf("%s %s to %s by %s", r.Method, r.URL.Path, r.Host, r.Proto)
	}
	for key, want := range map[string]string{
		"Content-Type": "application/grpc", "Te": "trailers", "User-Agent": "reactord/1.2.3",
		"X-Consul-Token": "secret",
	} {
		if got := r.Header.Get(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	for _, key := range []string{"Accept-Encoding", "Grpc-Encoding", "Empty"} {
		if _, has := r.Header[key]; has {
			t.Errorf("%s was sent", key)
		}
	}
}

func TestUnixSockets(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "ads"), fmt.Sprintf("@reactord-stream-%d", os.Getpid())} {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		serveOn(t, l, nil, echo)
		run(t, config(Server{Network: "unix", Address: path}), func(s *Stream) error {
			if got, err := ask(s, "x"); got != "x" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
			return errStop
		})
	}
}

// A server need not send its header before its first message.
func TestSilentServerIsConnected(t *testing.T) {
	heard := make(chan string, 2)
	s := serve(t, nil, func(c *call) {
		for range 2 {
			text, _ := c.read()
			heard <- text
		}
		<-c.r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	c := config(s.at())
	var phases []Phase
	c.Report = func(s State) { phases = append(phases, s.Phase) }
	Run(ctx, c, func(s *Stream) error {
		for _, text := range []string{"a", "b"} {
			if err := s.Send(wrapperspb.String(text)); err != nil {
				t.Error(err)
			}
			if got := within(t, heard); got != text {
				t.Errorf("the server got %q, want %q", got, text)
			}
		}
		received := make(chan error)
		go func() {
			_, err := receive(s)
			received <- err
		}()
		cancel()
		err := within(t, received)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Recv returned %v, want %v", err, context.Canceled)
		}
		return err
	})
	if fmt.Sprint(phases) != "[connecting connected]" {
		t.Errorf("phases %v", phases)
	}
}

// What waits in Recv or in Send ends with the context, also after the header of the response.
func TestContextEndsWhatWaits(t *testing.T) {
	recv := func(s *Stream) error {
		_, err := receive(s)
		return err
	}
	send := func(s *Stream) error {
		for { // until the window is full
			if err := s.Send(wrapperspb.String(strings.Repeat("x", window))); err != nil {
				return err
			}
		}
	}
	for _, header := range []bool{false, true} {
		for name, wait := range map[string]func(*Stream) error{"recv": recv, "send": send} {
			t.Run(fmt.Sprint(name, header), func(t *testing.T) {
				s := serve(t, nil, func(c *call) {
					if header {
						c.header()
						c.write("x")
					}
					<-c.r.Context().Done()
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				ran := make(chan bool)
				go func() {
					defer close(ran)
					Run(ctx, config(s.at()), func(s *Stream) error {
						if header {
							receive(s)
						}
						time.AfterFunc(10*time.Millisecond, cancel) // most probably it waits by then
						err := wait(s)
						if !errors.Is(err, context.Canceled) {
							t.Errorf("it ended with %v", err)
						}
						return err
					})
				}()
				within(t, ran)
			})
		}
	}
}

// within receives in time.
func within[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		t.Fatal("nothing has arrived in time")
	}
	return v
}

func TestStatusEndsStream(t *testing.T) {
	for code := range 18 {
		for _, only := range []bool{true, false} {
			t.Run(fmt.Sprint(Code(code), only), func(t *testing.T) {
				s := serve(t, nil, func(c *call) {
					if only { // trailers only
						c.w.Header().Set("Content-Type", "application/grpc")
						c.w.Header().Set("Grpc-Status", fmt.Sprint(code))
						c.w.Header().Set("Grpc-Message", "too%20much: 100%")
						return
					}
					c.header()
					c.write("x")
					c.status(fmt.Sprint(code), "too%20much: 100%")
				})
				err := failure(t, config(s.at()), func(s *Stream) error {
					if !only {
						if got, err := receive(s); got != "x" || err != nil {
							t.Errorf("received %q, %v", got, err)
						}
					}
					_, err := receive(s)
					return err
				})
				var of *Error
				if !errors.As(err, &of) || of.Code != Code(code) || of.Message != "too much: 100%" {
					t.Errorf("ended with %v", err)
				}
				if !strings.Contains(err.Error(), Code(code).String()) {
					t.Errorf("%v does not name the code", err)
				}
			})
		}
	}
}

func TestBadAnswers(t *testing.T) {
	message, err := appendMessage(nil, wrapperspb.String("0123456789"))
	if err != nil {
		t.Fatal(err)
	}
	type test struct {
		serve func(*call)
		want  string
	}
	sends := func(data []byte) func(*call) {
		return func(c *call) {
			c.header()
			c.raw(data)
			c.status("0", "")
		}
	}
	answers := func(status int, kind, body string) func(*call) {
		return func(c *call) {
			c.w.Header().Set("Content-Type", kind)
			c.w.WriteHeader(status)
			io.WriteString(c.w, body)
		}
	}
	for name, c := range map[string]test{
		"half a length":   {sends(message[:3]), "within a message"},
		"half a message":  {sends(message[:9]), "within a message"},
		"giant length":    {sends([]byte{0, 255, 255, 255, 255, 1}), "message of 4294967295 bytes exceeds the limit of 1000"},
		"above the limit": {sends([]byte{0, 0, 0, 3, 233, 1}), "message of 1001 bytes exceeds the limit of 1000"},
		"compressed":      {sends([]byte{1, 0, 0, 0, 0}), "compressed"},
		"not gRPC":        {sends([]byte("HTTP/1.1 200")), "not gRPC"},
		"not protobuf":    {sends([]byte{0, 0, 0, 0, 1, 0xff}), "cannot decode message"},
		"no status":       {func(c *call) { c.header() }, "the stream ended without a gRPC status"},
		"strange status": {func(c *call) {
			c.header()
			c.status("fine", "")
		}, "the stream ended with an invalid status: fine"},
		"another kind":  {answers(200, "text/html", "<p>"), `does not speak gRPC: its answer is "text/html"`},
		"no such page":  {answers(404, "text/plain", "no such\npage"), "HTTP status 404 Not Found: no such page"},
		"overloaded":    {answers(503, "text/html", ""), "Unavailable: HTTP status 503"},
		"unauthorized":  {answers(401, "text/html", ""), "Unauthenticated"},
		"a long answer": {answers(500, "text/html", strings.Repeat("x", 10*maxText)), "Unknown: HTTP status 500"},
	} {
		t.Run(name, func(t *testing.T) {
			conf := config(serve(t, nil, c.serve).at())
			conf.MaxMessage = 1000
			err := failure(t, conf, nil)
			if !strings.Contains(err.Error(), c.want) || len(err.Error()) > 2*maxText || strings.Contains(err.Error(), "\n") {
				t.Errorf("%.300v\nwant %s", err, c.want)
			}
		})
	}
}

func TestSlowServer(t *testing.T) {
	s := serve(t, nil, func(c *call) {
		data, _ := appendMessage(nil, wrapperspb.String("slow"))
		c.header()
		for i := range data {
			c.raw(data[i : i+1])
		}
		<-c.r.Context().Done()
	})
	run(t, config(s.at()), func(s *Stream) error {
		if got, err := receive(s); got != "slow" || err != nil {
			t.Errorf("received %q, %v", got, err)
		}
		return errStop
	})
}

// What a length says is not allocated before its bytes are there.
func TestLengthIsNotBelieved(t *testing.T) {
	head := binary.BigEndian.AppendUint32([]byte{0}, 64<<20)
	r := reader{from: bytes.NewReader(append(head, "few"...)), limit: 64 << 20}
	if _, err := r.next(); !errors.Is(err, errHalf) {
		t.Errorf("got %v", err)
	}
	if cap(r.buf) > 1<<16 {
		t.Errorf("%d bytes were allocated", cap(r.buf))
	}
}

// A server cannot send more than the window while nothing is received.
func TestNothingIsReadAhead(t *testing.T) {
	const size, all = 64 << 10, 30
	var written atomic.Int64
	full := make(chan bool, 1)
	s := serve(t, nil, func(c *call) {
		c.header()
		for range all {
			c.write(strings.Repeat("x", size))
			if written.Add(1) == window/size-1 {
				full <- true
			}
		}
		c.read()
	})
	run(t, config(s.at()), func(s *Stream) error {
		if err := s.Send(wrapperspb.String("x")); err != nil {
			t.Error(err)
		}
		within(t, full)
		for range 100 { // the server has every chance to write more
			time.Sleep(time.Millisecond)
		}
		// What is in the server's own buffers comes on top of the window.
		if n := written.Load(); n > window/size+4 {
			t.Errorf("%d bytes were written, and none was received; the window has %d", n*size, window)
		}
		for range all {
			if _, err := receive(s); err != nil {
				t.Fatal(err)
			}
		}
		return errStop
	})
}

func TestSendWaitsForServer(t *testing.T) {
	release := make(chan bool)
	s := serve(t, nil, func(c *call) {
		<-release
		echo(c)
	})
	run(t, config(s.at()), func(s *Stream) error {
		sent, text := make(chan error, 1), strings.Repeat("x", 2<<20)
		go func() { sent <- s.Send(wrapperspb.String(text)) }()
		release <- true
		if got, err := receive(s); got != text || err != nil {
			t.Errorf("received %d bytes, %v", len(got), err)
		}
		if err := within(t, sent); err != nil {
			t.Error(err)
		}
		return errStop
	})
}
