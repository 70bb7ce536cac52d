//go:build linux

package server_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/server"
)

// upper answers each line in upper case.
func upper(c *server.Conn, in, out []byte) (int, []byte, error) {
	return server.Frames(c, in, out, server.Lines{}, func(_ *server.Conn, line, out []byte) ([]byte, error) {
		if string(line) == "quit" {
			return append(out, "BYE\n"...), io.EOF
		}
		return append(append(out, bytes.ToUpper(line)...), '\n'), nil
	})
}

// What is unread is presented again with what follows, wherever the stream is split.
func TestEverySplit(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		w := newWatched(upper)
		r := serve(t, kind, server.Config{}, w)
		const in, want = "a\nbc\r\n\ndef\nquit\nlost\n", "A\nBC\n\nDEF\nBYE\n"
		for split := range len(in) {
			c := r.dial()
			w.send(t, c, in[:split])
			_, _ = io.WriteString(c, in[split:])
			if got, err := io.ReadAll(c); string(got) != want || err != nil {
				t.Errorf("split at %d: %q, %v", split, got, err)
			}
			c.Close()
		}
		r.end()
	})
}

// Messages with a length that are larger than a receive buffer.
func TestLargeMessages(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		framing := server.LengthField{Strip: 4}
		r := serve(t, kind, server.Config{}, &hooks{
			data: func(c *server.Conn, in, out []byte) (int, []byte, error) {
				return server.Frames(c, in, out, framing, func(_ *server.Conn, f, out []byte) ([]byte, error) {
					return append(out, f...), nil
				})
			},
		})
		c := r.dial()
		var sent, want []byte
		for _, n := range []int{0, 1, 4000, 16 << 10, 100_000, 1<<20 - 4, 17<<10 - 4, 5} {
			body := bytes.Repeat([]byte{byte(n)}, n)
			sent = append(binary.BigEndian.AppendUint32(sent, uint32(n)), body...)
			want = append(want, body...)
		}
		go func() { _, _ = c.Write(sent) }()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
			t.Error(err)
		}
		c.Close()
		r.end()
	})
}

// recorder keeps why connections were closed.
type recorder struct {
	hooks
	errs chan error
}

func newRecorder(data func(c *server.Conn, in, out []byte) (int, []byte, error)) *recorder {
	r := &recorder{errs: make(chan error, 16)}
	r.data = data
	r.closed = func(_ *server.Conn, err error) { r.errs <- err }
	return r
}

func (r *recorder) expect(t *testing.T, want error) {
	t.Helper()
	select {
	case err := <-r.errs:
		if !errors.Is(err, want) {
			t.Errorf("closed: %v instead of %v", err, want)
		}
	case <-time.After(patience):
		t.Fatal("not closed")
	}
}

func TestWhyClosed(t *testing.T) {
	mine := errors.New("mine")
	type data = func(c *server.Conn, in, out []byte) (int, []byte, error)
	few := server.Config{MaxUnread: 4}
	none := func(*server.Conn, []byte, []byte) (int, []byte, error) { return 0, nil, nil }
	and := func(f func(c *server.Conn), used int) data {
		return func(c *server.Conn, in, _ []byte) (int, []byte, error) {
			f(c)
			return used, in[:used], nil
		}
	}
	fails := func(err error) data {
		return func(_ *server.Conn, in, out []byte) (int, []byte, error) { return 1, append(out, in[:2]...), err }
	}
	for name, c := range map[string]struct {
		data data
		cfg  server.Config
		want error
		got  string // by the client
	}{
		"EOF":           {data: echo, got: "hello"},
		"unread":        {data: none, want: io.ErrUnexpectedEOF},
		"error":         {data: fails(mine), want: mine, got: "he"},
		"io.EOF":        {data: fails(io.EOF), got: "he"},
		"abort":         {data: and(func(c *server.Conn) { c.CloseWithError(mine) }, 5), want: mine},
		"Close":         {data: and((*server.Conn).Close, 5), got: "hello"},
		"too many":      {data: none, cfg: few, want: server.ErrUnread},
		"need too many": {data: and(func(c *server.Conn) { c.Need(5) }, 0), cfg: few, want: server.ErrUnread},
	} {
		t.Run(name, func(t *testing.T) {
			eachRing(t, func(t *testing.T, kind reactor.RingKind) {
				h := newRecorder(c.data)
				r := serve(t, kind, c.cfg, h)
				conn := r.dial().(*net.TCPConn)
				_, _ = io.WriteString(conn, "hello")
				_ = conn.CloseWrite()
				if got, _ := io.ReadAll(conn); string(got) != c.got {
					t.Errorf("got %q", got)
				}
				conn.Close()
				h.expect(t, c.want)
				r.end()
			})
		})
	}
}

func TestPanicsAndGoexits(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for name, bad := range map[string]func(){
			"panic": func() { panic("mine") }, "goexit": runtime.Goexit,
		} {
			t.Run(name, func(t *testing.T) {
				h := newRecorder(func(c *server.Conn, in, _ []byte) (int, []byte, error) {
					switch string(in) {
					case "bad":
						bad()
					case "post":
						go c.Post(func(*server.Conn) { bad() })
						return len(in), nil, nil
					case "closed":
						c.SetContext(bad)
						return len(in), nil, io.EOF
					}
					return len(in), in, nil
				})
				record := h.closed
				h.closed = func(c *server.Conn, err error) {
					record(c, err)
					if c.Context() != nil {
						bad()
					}
				}
				r := serve(t, kind, server.Config{ErrorLog: quiet}, h)
				for _, what := range []string{"bad", "post", "closed", "half"} {
					c, good := r.dial(), r.dial()
					exchange(t, good, 10)
					_, _ = io.WriteString(c, what)
					if what != "half" {
						if b, err := io.ReadAll(c); len(b) != 0 || err != nil && !strings.Contains(err.Error(), "reset") {
							t.Errorf("%s: %q, %v", what, b, err)
						}
					}
					c.Close()
					<-h.errs
					exchange(t, good, 100_000)
					good.Close()
					<-h.errs
				}
				r.cancel()
				if err := r.wait(); err != nil && name != "goexit" {
					t.Error(err)
				}
			})
		}
	})
}

// A peer that does not read is not read from, and then cut off.
func TestReaderThatNeverReads(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		most := 0
		h := newRecorder(nil)
		h.data = func(c *server.Conn, in, out []byte) (int, []byte, error) {
			most = max(most, c.Unsent())
			return len(in), append(out, in...), nil
		}
		cfg := server.Config{WriteTimeout: 300 * time.Millisecond, HighWater: 64 << 10}
		r := serve(t, kind, cfg, h)
		c := r.dial()
		_, err := c.Write(make([]byte, 64<<20))
		if err == nil {
			t.Error("all was taken")
		}
		h.expect(t, os.ErrDeadlineExceeded)
		c.Close()
		r.end()
		if most > 64<<10+300<<10 {
			t.Errorf("%d bytes were unsent", most)
		}
	})
}

// A slow reader gets everything.
func TestSlowReader(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := serve(t, kind, server.Config{HighWater: 32 << 10}, &hooks{data: echo})
		c := r.dial().(*net.TCPConn)
		const n = 2_000_000
		go func() { _, _ = c.Write(bytes.Repeat([]byte("x"), n)); _ = c.CloseWrite() }()
		total, buf := 0, make([]byte, 64<<10)
		for {
			m, err := c.Read(buf)
			total += m
			if err != nil {
				break
			}
			time.Sleep(100 * time.Microsecond)
		}
		if total != n {
			t.Errorf("%d bytes", total)
		}
		c.Close()
		r.end()
	})
}

// What was begun is answered when the server shuts down.
func TestShutdownAnswers(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		begun := make(chan *server.Conn, 1)
		h, accepted := newRecorder(nil), make(chan bool, 2)
		h.open = func(*server.Conn) { accepted <- true }
		h.data = func(c *server.Conn, in, _ []byte) (int, []byte, error) {
			c.Pause() // it is answered later
			begun <- c
			return len(in), nil, nil
		}
		r := serve(t, kind, server.Config{Reactor: reactor.Config{Loops: 2}}, h)
		idle, busy := r.dial(), r.dial()
		_, _ = io.WriteString(busy, "question")
		c := <-begun
		<-accepted
		<-accepted
		r.cancel()
		if b, err := io.ReadAll(idle); len(b) != 0 || err != nil { // it is ended immediately
			t.Errorf("%q, %v", b, err)
		}
		idle.Close()
		c.Post(func(c *server.Conn) {
			_, _ = c.Write([]byte("answer"))
			c.Resume()
		})
		if b, err := io.ReadAll(busy); string(b) != "answer" {
			t.Errorf("%q, %v", b, err)
		}
		busy.Close()
		h.expect(t, nil)
		h.expect(t, nil)
		r.end()
	})
}

// Connections that wait in the backlog when the server shuts down read EOF, and are not reset.
func TestShutdownAcceptsRest(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		blocked, release := make(chan bool), make(chan bool)
		r := serve(t, kind, server.Config{}, &hooks{data: func(_ *server.Conn, in, _ []byte) (int, []byte, error) {
			if string(in) != "hello" {
				return len(in), nil, nil // the shutdown came later
			}
			close(blocked)
			<-release
			return len(in), in, nil
		}})
		first := r.dial()
		_, _ = io.WriteString(first, "hello")
		<-blocked
		var waiting []net.Conn
		for range 20 {
			c := r.dial() // the kernel completes that
			_, _ = io.WriteString(c, "question")
			waiting = append(waiting, c)
		}
		r.cancel()
		close(release)
		expect(t, first, "hello")
		for _, c := range append(waiting, first) {
			if b, err := io.ReadAll(c); len(b) != 0 || err != nil {
				t.Errorf("%q, %v", b, err)
			}
			c.Close()
		}
		r.end()
	})
}

func TestGraceEnds(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		begun := make(chan bool, 1)
		h := newRecorder(func(c *server.Conn, in, _ []byte) (int, []byte, error) {
			c.Pause()
			begun <- true
			return len(in), nil, nil
		})
		r := serve(t, kind, server.Config{Grace: 20 * time.Millisecond}, h)
		c := r.dial()
		_, _ = io.WriteString(c, "question")
		<-begun
		r.cancel()
		if err := r.wait(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Serve: %v", err)
		}
		h.expect(t, os.ErrDeadlineExceeded)
		c.Close()
	})
}

// Post may be called on many threads; order is kept; a call off the loop's thread panics.
func TestPost(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		opened := make(chan *server.Conn, 1)
		r := serve(t, kind, server.Config{}, &hooks{open: func(c *server.Conn) { opened <- c }})
		c := r.dial()
		conn := <-opened
		for name, f := range map[string]func(){
			"Write": func() { _, _ = conn.Write([]byte("x")) }, "Close": conn.Close, "Pause": conn.Pause,
		} {
			func() {
				defer func() {
					if s := fmt.Sprint(recover()); !strings.Contains(s, "use Conn.Post") {
						t.Errorf("%s off the thread: %s", name, s)
					}
				}()
				f()
			}()
		}
		const threads, each = 8, 1000
		var wg sync.WaitGroup
		for i := range threads {
			wg.Go(func() {
				for n := range each {
					conn.Post(func(c *server.Conn) { _, _ = c.Write(binary.BigEndian.AppendUint16([]byte{byte(i)}, uint16(n))) })
				}
			})
		}
		var next [threads]int
		got := make([]byte, 3)
		for range threads * each {
			if _, err := io.ReadFull(c, got); err != nil {
				t.Fatal(err)
			}
			if n := int(binary.BigEndian.Uint16(got[1:])); n != next[got[0]] {
				t.Fatalf("%d instead of %d", n, next[got[0]])
			}
			next[got[0]]++
		}
		wg.Wait()
		c.Close()
		r.end()
		conn.Post(func(*server.Conn) { t.Error("called after the end") })
	})
}

func TestUnixSocketAndInherited(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		path := filepath.Join(t.TempDir(), "s")
		address, err := reactor.UnixAddress(path)
		if err != nil {
			t.Fatal(err)
		}
		r := serve(t, kind, server.Config{Address: address, Reactor: reactor.Config{Loops: 3}}, &hooks{data: echo})
		for range 10 {
			c := r.dial()
			exchange(t, c, 100)
			c.Close()
		}
		r.end()
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the path is left: %v", err)
		}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f, err := ln.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		r = serve(t, kind, server.Config{Listeners: []net.Listener{ln}, Files: []*os.File{f},
			Reactor: reactor.Config{Loops: 2}}, &hooks{data: echo})
		ln.Close()
		f.Close()
		c := r.dial()
		exchange(t, c, 100)
		c.Close()
		r.end()
	})
}

// streamer sends a number of bytes, whenever it can.
type streamer struct {
	server.Base
	left, most int
}

func (s *streamer) Open(c *server.Conn) { s.Writable(c) }

func (s *streamer) Data(_ *server.Conn, in, _ []byte) (int, []byte, error) { return len(in), nil, nil }

func (s *streamer) Writable(c *server.Conn) {
	for c.Unsent() <= streamHighWater && s.left > 0 {
		n, err := c.Write(make([]byte, min(s.left, 10_000)))
		if err != nil {
			return
		}
		s.left -= n
	}
	if s.most = max(s.most, c.Unsent()); s.left == 0 {
		c.Close()
	}
}

const streamHighWater = 64 << 10

// A handler that learns when it may write again sends any amount, and keeps little of it in memory.
func TestWritable(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		const total = 20 << 20
		s := &streamer{left: total}
		r := serve(t, kind, server.Config{HighWater: streamHighWater}, s)
		c := r.dial()
		n, err := io.Copy(io.Discard, c)
		if n != total || err != nil {
			t.Errorf("%d bytes and %v, want %d", n, err, total)
		}
		c.Close()
		r.end()
		if limit := streamHighWater + 10_000; s.most > limit {
			t.Errorf("%d bytes were unsent, want %d at most", s.most, limit)
		}
	})
}

// drainHandler is a hooks that gets notice of a shutdown.
type drainHandler struct {
	hooks
	drain func(c *server.Conn)
}

func (h *drainHandler) Drain(c *server.Conn) { h.drain(c) }

// A DrainHandler may say goodbye, or pause the connection and do so later.
func TestDrainHandler(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		opened := make(chan bool, 2)
		paused := make(chan *server.Conn, 1)
		h := &drainHandler{drain: func(c *server.Conn) {
			if _, err := c.Write([]byte("bye")); err != nil {
				t.Error(err)
			}
			if c.Context() != nil {
				c.Pause()
				paused <- c
			}
		}}
		h.data = func(c *server.Conn, in, _ []byte) (int, []byte, error) {
			c.SetContext("later")
			return len(in), in, nil
		}
		h.open = func(*server.Conn) { opened <- true }
		r := serve(t, kind, server.Config{}, h)
		now, later := r.dial(), r.dial()
		exchange(t, later, 10)
		<-opened
		<-opened
		r.cancel()
		if b, err := io.ReadAll(now); string(b) != "bye" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		expect(t, later, "bye")
		(<-paused).Post(func(c *server.Conn) {
			_, _ = c.Write([]byte(" for now"))
			c.Resume()
		})
		if b, err := io.ReadAll(later); string(b) != " for now" || err != nil {
			t.Errorf("%q, %v", b, err)
		}
		now.Close()
		later.Close()
		r.end()
	})
}

// Loops do not need their own processors.
func TestOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		r := serve(t, kind, server.Config{Reactor: reactor.Config{Loops: 3}}, &hooks{data: echo})
		var clients sync.WaitGroup
		for range 20 {
			clients.Go(func() {
				c := r.dial()
				for range 20 {
					exchange(t, c, 1000)
				}
				c.Close()
			})
		}
		clients.Wait()
		r.end()
	})
}

// A client that does not wait for answers is served to the end by a handler that pauses for each request: what is left
// unread must not keep the receive buffers that a bulk of requests waits for.
func TestPipelinedPauses(t *testing.T) {
	for _, size := range []int{20, 400, 5000, 20_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			eachRing(t, func(t *testing.T, kind reactor.RingKind) {
				answer := func(c *server.Conn) {
					_, _ = c.Write([]byte("a"))
					c.Resume()
				}
				frame := func(c *server.Conn, _, out []byte) ([]byte, error) {
					c.Pause()
					c.Post(answer)
					return out, nil
				}
				r := serve(t, kind, server.Config{}, &hooks{data: func(c *server.Conn, in, out []byte) (int, []byte, error) {
					return server.Frames(c, in, out, server.Lines{}, frame)
				}})
				c := r.dial()
				n := 2_000_000 / size
				line := append(bytes.Repeat([]byte("x"), size-1), '\n')
				go func() { _, _ = c.Write(bytes.Repeat(line, n)) }()
				if got, err := io.CopyN(io.Discard, c, int64(n)); err != nil {
					t.Errorf("%d answers of %d: %v", got, n, err)
				}
				c.Close()
				r.end()
			})
		})
	}
}

// What Data returns of its input is sent as it was, although a later call returns less from the same memory, behind
// which a copy is queued.
func TestOverlappingOutput(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		w := newWatched(func(_ *server.Conn, in, out []byte) (int, []byte, error) {
			switch len(in) {
			case 6000: // waits for more, so that both are joined
				return 0, nil, nil
			case 12_000:
				return 100, in[:10_000], nil
			case 11_900:
				return len(in), in[:5000], nil
			default:
				return len(in), append(out, "copied"...), nil
			}
		})
		r := serve(t, kind, server.Config{}, w)
		c := r.dial()
		defer c.Close()
		in := make([]byte, 13_000)
		for i := range in {
			in[i] = 'a' + byte(i%23)
		}
		w.send(t, c, string(in[:6000]))
		want := string(in[:10_000]) + string(in[100:5100]) + "copied"
		if _, err := c.Write(in[6000:]); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		_ = c.SetReadDeadline(time.Now().Add(patience))
		if _, err := io.ReadFull(c, got); err != nil {
			t.Error(err)
		}
		if string(got) != want {
			t.Error("the output was overwritten before it was sent")
		}
		r.end()
	})
}

// The addresses of a connection are known in Closed, however it has ended, and on a listener of all addresses too.
func TestAddressesInClosed(t *testing.T) {
	eachRing(t, func(t *testing.T, kind reactor.RingKind) {
		for _, listen := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
			got := make(chan [2]net.Addr, 1)
			h := &hooks{data: echo, closed: func(c *server.Conn, _ error) {
				got <- [2]net.Addr{c.RemoteAddr(), c.LocalAddr()}
			}}
			r := serve(t, kind, server.Config{Addr: netip.MustParseAddrPort(listen)}, h)
			_, port, _ := net.SplitHostPort(r.addr.String())
			for name, end := range map[string]func(c *net.TCPConn){
				"EOF":   func(c *net.TCPConn) { c.Close() },
				"reset": func(c *net.TCPConn) { _ = c.SetLinger(0); c.Close() },
			} {
				c, err := net.Dial("tcp", "127.0.0.1:"+port)
				if err != nil {
					t.Fatal(err)
				}
				exchange(t, c, 10)
				end(c.(*net.TCPConn))
				addrs := <-got
				if addrs[0] == nil || addrs[1] == nil || addrs[0].String() != c.LocalAddr().String() ||
					addrs[1].String() != c.RemoteAddr().String() {
					t.Errorf("%s on %s: %v, want %v and %v", name, listen, addrs, c.LocalAddr(), c.RemoteAddr())
				}
			}
			r.end()
		}
	})
}
