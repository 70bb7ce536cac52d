package stream

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/reactord/reactord/internal/testenv"
)

// A graceful shutdown sends GOAWAY: the stream continues, and the next one is with another server.
func TestGoAway(t *testing.T) {
	stop := make(chan bool)
	first := serve(t, nil, func(c *call) {
		c.header()
		for {
			select {
			case <-stop:
				c.status("14", "going away")
				return
			default:
			}
			if text, ok := c.read(); ok {
				c.write(text)
			}
		}
	})
	second := serve(t, nil, echo)
	streams, shut := 0, make(chan error, 1)
	run(t, config(first.at(), second.at()), func(s *Stream) error {
		streams++
		if streams == 1 {
			ask(s, "x")
			began := make(chan bool)
			first.RegisterOnShutdown(func() { close(began) })
			go func() { shut <- first.Shutdown(context.Background()) }()
			within(t, began)
			for i := range 10 {
				text := fmt.Sprint(i)
				if got, err := ask(s, text); got != text || err != nil {
					t.Errorf("after GOAWAY: got %q, %v, want %q", got, err, text)
				}
			}
			close(stop)
			_ = s.Send(wrapperspb.String("wake"))
			for {
				if _, err := receive(s); err != nil {
					return err
				}
			}
		}
		if s.Server() != second.at().Address {
			t.Errorf("the next stream is with %s", s.Server())
		}
		if got, err := ask(s, "y"); got != "y" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		return errStop
	})
	if err := within(t, shut); err != nil {
		t.Error(err)
	}
}

// raw serves connections as bytes.
func raw(t *testing.T, serve func(*net.TCPConn)) Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			if of, ok := c.(*net.TCPConn); ok {
				serve(of)
			}
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return Server{Network: "tcp", Address: l.Addr().String()}
}

// The kernel of a server that is stopped still accepts connections.
func TestStoppedServerLosesConnection(t *testing.T) {
	c := config(raw(t, func(*net.TCPConn) {}))
	c.ConnectTimeout = 20 * time.Millisecond
	c.Report = func(s State) {
		if s.Phase == Connected {
			t.Error("connected to a server that has sent nothing")
		}
	}
	if err := failure(t, c, nil); !strings.Contains(err.Error(), "sends nothing: no connection within 20ms") {
		t.Error(err)
	}
	c = config(raw(t, func(c *net.TCPConn) {
		_, _ = c.Write(noSettings) // and then it is stopped
	}))
	c.PingInterval, c.PingTimeout = 10*time.Millisecond, 20*time.Millisecond
	if err := failure(t, c, nil); !strings.Contains(err.Error(), "no answer to a ping within 20ms") {
		t.Error(err)
	}
}

// noSettings is a frame of HTTP/2: SETTINGS without any.
var noSettings = []byte{0, 0, 0, 4, 0, 0, 0, 0, 0}

// A message whose bytes trickle is no sign of life.
func TestTrickle(t *testing.T) {
	server := serve(t, nil, func(c *call) {
		c.header()
		c.raw([]byte{0, 0, 0, 4, 0})
		for c.r.Context().Err() == nil {
			c.raw([]byte{0})
			time.Sleep(5 * time.Millisecond)
		}
	})
	c := config(server.at())
	c.PingInterval, c.PingTimeout = 30*time.Millisecond, 20*time.Millisecond
	if err := failure(t, c, nil); !strings.Contains(err.Error(), "less than 1024 KiB received within 50ms") {
		t.Error(err)
	}
}

func TestServerKilled(t *testing.T) {
	for name, kill := range map[string]func(*net.TCPConn){
		"closed": func(c *net.TCPConn) { c.Close() },
		"reset": func(c *net.TCPConn) {
			c.SetLinger(0)
			c.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			at := raw(t, func(c *net.TCPConn) {
				io.ReadFull(c, make([]byte, 24)) // the preface of HTTP/2
				kill(c)
			})
			ended := make(chan error, 1)
			err := failure(t, config(at), func(s *Stream) error {
				go func() { // a Send that is blocked ends as well
					for {
						if err := s.Send(wrapperspb.String(strings.Repeat("x", 1<<20))); err != nil {
							ended <- err
							return
						}
					}
				}()
				_, err := receive(s)
				within(t, ended)
				return err
			})
			if err == nil || errors.Is(err, errStreamEnded) {
				t.Errorf("ended with %v", err)
			}
			t.Log(err)
		})
	}
}

// A server that is asked by pings too often says so. From then on it is asked by requests, and its silence is noticed
// as soon as before.
func TestTooManyPings(t *testing.T) {
	var conns atomic.Int32
	at := raw(t, func(c *net.TCPConn) {
		conns := conns.Add(1)
		r := bufio.NewReader(c)
		_, _ = io.ReadFull(r, make([]byte, 24))
		_, _ = c.Write(noSettings)
		go func() {
			defer c.Close()
			for requests := 0; ; {
				var head [9]byte
				if _, err := io.ReadFull(r, head[:]); err != nil {
					return
				}
				length := int(head[0])<<16 | int(binary.BigEndian.Uint16(head[1:]))
				_, _ = io.CopyN(io.Discard, r, int64(length))
				if head[3] == 1 { // HEADERS
					requests++
				}
				if head[3] != 6 || requests > 1 { // PING; net/http sends one with the end of a request
					continue
				}
				if conns > 1 {
					t.Error("a ping, which the server does not want")
				}
				debug := "too_many_pings"
				away := []byte{0, 0, byte(8 + len(debug)), 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11}
				_, _ = c.Write(append(away, debug...))
				return
			}
		}()
	})
	c := *config(at).withDefaults()
	c.PingInterval, c.PingTimeout = 20*time.Millisecond, 40*time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var failed []string
	c.Report = func(s State) {
		if s.Phase == Waiting {
			if failed = append(failed, s.Err.Error()); len(failed) == 3 {
				cancel()
			}
		}
	}
	Run(ctx, c, func(s *Stream) error {
		_, err := receive(s)
		return err
	})
	if len(failed) < 3 || !tooManyPings(errors.New(failed[0])) ||
		!strings.Contains(failed[0], "probing by requests instead of pings") {
		t.Fatalf("failed with %q", failed)
	}
	for _, text := range failed[1:] {
		if !strings.Contains(text, "no answer to a request within 40ms") {
			t.Errorf("a server that answers no request: %s", text)
		}
	}
}

// A server that answers requests keeps its stream, whatever it answers.
func TestProbe(t *testing.T) {
	asked := make(chan string, 100)
	server := serve(t, nil, func(c *call) {
		if c.r.URL.Path != method {
			asked <- c.r.URL.Path
			c.w.WriteHeader(http.StatusNotFound)
			return
		}
		echo(c)
	})
	c := config(server.at()).withDefaults()
	c.PingInterval, c.PingTimeout = 10*time.Millisecond, patience
	s, err := open(t.Context(), c, &c.Servers[0], true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 3 {
		before := s.wire.heard.Load()
		if path := within(t, asked); path != "/grpc.health.v1.Health/Check" {
			t.Error(path)
		}
		for s.wire.heard.Load() == before {
			time.Sleep(time.Millisecond)
		}
	}
	if got, err := ask(s, "x"); got != "x" || err != nil || time.Since(s.Heard()) > patience {
		t.Errorf("got %q, %v, heard %v", got, err, s.Heard())
	}
}

func TestConnectTimeout(t *testing.T) {
	at := raw(t, func(*net.TCPConn) {})
	at.TLS = (&TLS{}).Config
	c := config(at)
	c.ConnectTimeout = 20 * time.Millisecond
	if err := failure(t, c, nil); !strings.Contains(err.Error(), "no connection within 20ms") {
		t.Error(err)
	}
}

// deadServer is an address where nothing listens.
func deadServer(t *testing.T) Server {
	t.Helper()
	return Server{Network: "tcp", Address: testenv.Vacant(t)}
}

func TestServersInTurn(t *testing.T) {
	full := serve(t, nil, func(c *call) {
		c.w.Header().Set("Content-Type", "application/grpc")
		c.w.Header().Set("Grpc-Status", "8")
		c.w.Header().Set("Grpc-Message", "this server has too many xDS streams open, please try another")
	})
	good := serve(t, nil, echo)
	c := config(full.at(), deadServer(t), good.at())
	var waits []State
	c.Report = func(s State) {
		if s.Phase == Waiting {
			waits = append(waits, s)
		}
	}
	c.Random = func() float64 { return 0.5 }
	run(t, c, func(s *Stream) error {
		if _, err := ask(s, "x"); err != nil {
			return err
		}
		if s.Server() != good.at().Address {
			t.Errorf("the stream is with %s", s.Server())
		}
		return errStop
	})
	if len(waits) != 2 || waits[0].Wait != 0 || waits[1].Wait != c.Backoff.Base/2 {
		t.Errorf("waited %+v", waits)
	}
}

func TestEndedWhileWaiting(t *testing.T) {
	c := config(deadServer(t))
	c.Backoff = Backoff{Base: time.Hour, Max: time.Hour}
	if err := failure(t, c, nil); !strings.Contains(err.Error(), "connection refused") {
		t.Error(err)
	}
}

// However streams end, no descriptor and no goroutine is left.
func TestNothingIsLeft(t *testing.T) {
	descriptors := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	var open atomic.Int64
	good := serve(t, nil, func(c *call) {
		open.Add(1)
		defer open.Add(-1)
		echo(c)
	})
	silent := serve(t, nil, func(c *call) { <-c.r.Context().Done() })
	before := descriptors()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	n := 0
	Run(ctx, config(good.at(), silent.at(), deadServer(t)), func(s *Stream) error {
		if n++; n > 60 {
			cancel()
		}
		go s.Send(wrapperspb.String("x"))
		if s.Server() == good.at().Address && n%2 == 0 {
			receive(s)
		}
		return io.EOF
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		now := descriptors()
		if now <= before && open.Load() == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d descriptors, %d before; %d streams are open", now, before, open.Load())
		}
	}
	if n < 60 {
		t.Errorf("only %d streams", n)
	}
}
