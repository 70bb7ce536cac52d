package engine

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reactord/reactord/bench/record"
)

func TestHTTP(t *testing.T) {
	var asked atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /plain", func(w http.ResponseWriter, r *http.Request) { asked.Add(1); fmt.Fprint(w, "hello") })
	mux.HandleFunc("GET /empty", func(w http.ResponseWriter, r *http.Request) { asked.Add(1); w.WriteHeader(204) })
	mux.HandleFunc("GET /chunks", func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		for range 3 {
			fmt.Fprint(w, strings.Repeat("x", 3000))
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("GET /close", func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Connection", "close")
		fmt.Fprint(w, "bye")
	})
	mux.HandleFunc("POST /body", func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if n, _ := io.Copy(io.Discard, r.Body); n != 1000 || r.Header.Get("X-Test") != "1" {
			w.WriteHeader(400)
		}
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	for _, m := range []HTTP{{Path: "/plain"}, {Path: "/plain", Pipeline: 8}, {Path: "/plain", Method: "HEAD"},
		{Path: "/empty"},
		{Path: "/chunks", Pipeline: 3}, {Path: "/close"}, {Path: "/body", Method: "POST", Body: 1000,
			Header: []string{"X-Test: 1"}}} {
		asked.Store(0)
		g := load(t, "tcp://"+s.Listener.Addr().String(), &m, nil)
		_, w := run(t, g, Phase{Time: short / 2})
		faultless(t, w)
		if w.Messages == 0 || w.Messages != asked.Load() {
			t.Errorf("%+v: %d replies to %d requests", m.Path, w.Messages, asked.Load())
		}
	}
	g := load(t, "tcp://"+s.Listener.Addr().String(), &HTTP{Path: "/absent"}, nil)
	_, w := run(t, g, Phase{Time: short / 2})
	only(t, w, record.Status)
	if w.Opened != 0 {
		t.Errorf("%d connections were lost for a reply that says 404", w.Opened)
	}
}

// Replies are parsed in pieces of any size.
func TestHTTPReplyByteByByte(t *testing.T) {
	const replies = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-LENGTH: 5\r\n\r\nhello" +
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\nA\r\n0123456789\r\n0\r\nTrailer: z\r\n\r\n" +
		"HTTP/1.1 204 No Content\r\n\r\n"
	for size := 1; size <= len(replies); size++ {
		h := &httpCodec{}
		whole, rest := 0, []byte(replies)
		for len(rest) > 0 {
			p := rest[:min(size, len(rest))]
			rest = rest[len(p):]
			for len(p) > 0 {
				n, done, err := h.reply(p)
				if err != nil {
					t.Fatalf("in pieces of %d: %v", size, err)
				}
				p = p[n:]
				if done {
					whole++
				}
			}
		}
		if whole != 3 {
			t.Errorf("in pieces of %d there are %d replies, want 3", size, whole)
		}
	}
	for _, bad := range []string{"HELLO\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n", "HTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"} {
		if _, done, err := (&httpCodec{}).reply([]byte(bad)); err == nil {
			t.Errorf("%q was taken for a reply: %v", bad, done)
		}
	}
}

// respServer implements PING, SET and GET.
func respServer(c net.Conn) {
	in, keys := bufio.NewReader(c), map[string]string{}
	for {
		var words []string
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
		for range n {
			size, _ := in.ReadString('\n')
			k, _ := strconv.Atoi(strings.TrimSpace(size[1:]))
			word := make([]byte, k+2)
			if _, err := io.ReadFull(in, word); err != nil {
				return
			}
			words = append(words, string(word[:k]))
		}
		reply := "-ERR unknown command\r\n"
		switch words[0] {
		case "PING":
			reply = "+PONG\r\n"
		case "SET":
			keys[words[1]] = words[2]
			reply = "+OK\r\n"
		case "GET":
			reply = "$-1\r\n"
			if v, ok := keys[words[1]]; ok {
				reply = fmt.Sprintf("$%d\r\n%s\r\n", len(v), v)
			}
		}
		if _, err := io.WriteString(c, reply); err != nil {
			return
		}
	}
}

func TestRedis(t *testing.T) {
	for _, m := range []Redis{{}, {Command: "set"}, {Command: "get", Keys: 10, Pipeline: 7},
		{Command: "mixed", Keys: 5, Size: 5000}} {
		g := load(t, serve(t, "tcp", respServer), &m, nil)
		_, w := run(t, g, Phase{Time: short / 2})
		faultless(t, w)
		if w.Messages == 0 || m.Command == "get" && w.Verified < 128*(w.Messages-4*10) {
			t.Errorf("%s: %d replies, %d bytes verified", m.Command, w.Messages, w.Verified)
		}
	}
	g := load(t, serve(t, "tcp", func(c net.Conn) {
		for buf := make([]byte, 100); ; {
			if _, err := c.Read(buf); err != nil {
				return
			}
			_, _ = io.WriteString(c, "-NOPERM\r\n")
		}
	}), &Redis{}, nil)
	_, w := run(t, g, Phase{Time: short / 2})
	only(t, w, record.Status)
}

func TestRESPReplyByteByByte(t *testing.T) {
	const replies = "+OK\r\n:12\r\n$5\r\nhello\r\n$-1\r\n*2\r\n$1\r\na\r\n:3\r\n*0\r\n$0\r\n\r\n"
	for size := 1; size <= len(replies); size++ {
		r := &redisCodec{mode: &Redis{Command: "ping"}, bulk: -1, c: &conn{group: &group{w: &worker{cfg: &Config{}}}}}
		whole, rest := 0, []byte(replies)
		for len(rest) > 0 {
			p := rest[:min(size, len(rest))]
			rest = rest[len(p):]
			for len(p) > 0 {
				n, done, err := r.reply(p)
				if err != nil {
					t.Fatalf("in pieces of %d: %v", size, err)
				}
				p = p[n:]
				if done {
					whole++
				}
			}
		}
		if whole != 7 {
			t.Errorf("in pieces of %d there are %d replies, want 7", size, whole)
		}
	}
}

func TestRealRedis(t *testing.T) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip(err)
	}
	socket := t.TempDir() + "/redis"
	server := exec.CommandContext(t.Context(), path, "--port", "0", "--unixsocket", socket, "--save", "", "--dir",
		t.TempDir())
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			break
		} else if time.Since(begin) > 10*time.Second {
			t.Fatal(err)
		}
	}
	g := load(t, "unix://"+socket, &Redis{Command: "mixed", Keys: 20, Pipeline: 10}, nil)
	_, w := runUntil(t, g, Phase{Time: short}, func(w *record.Window) bool { return w.Verified > 0 })
	faultless(t, w)
	if w.Messages == 0 || w.Verified == 0 {
		t.Errorf("%d replies, %d bytes verified", w.Messages, w.Verified)
	}
}

func TestDatagramsThatAreLostSwappedAndDoubled(t *testing.T) {
	var n int
	var kept []byte
	url := packets(t, func(p []byte, reply func([]byte)) {
		switch n++; n % 10 {
		case 3: // lost
		case 5:
			reply(p)
			reply(p)
		case 7: // comes behind the next
			kept = append([]byte{}, p...)
		case 8:
			reply(p)
			reply(kept)
		default:
			reply(p)
		}
	})
	g := load(t, url, &UDP{Depth: 100, Wait: time.Second}, func(c *Config) { c.Connections = 1 })
	_, w := run(t, g, Phase{Time: 3 * short, From: 1000, To: 1000})
	faultless(t, w)
	tenth := w.Sent / 10
	if tenth == 0 || w.Lost < tenth-1 || w.Lost > tenth+1 || w.Duplicates < tenth-1 || w.Duplicates > tenth+1 ||
		w.Messages+w.Lost != w.Sent {
		t.Errorf("%d sent, %d came back, %d lost, %d duplicates, %d reordered", w.Sent, w.Messages, w.Lost, w.Duplicates,
			w.Reordered)
	}
}

func TestScenario(t *testing.T) {
	parts, err := ParseScenario([]byte(`
parts:
  - name: small
    mode: echo
    weight: 3
    options: {size: 64-256, depth: 2}
  - mode: connect
    options: {close: rst}
`))
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := parts[0].Mode.(*Echo); !ok || e.Depth != 2 || e.Size.Max() != 256 || parts[0].Name != "small" ||
		parts[1].Name != "connect" {
		t.Fatalf("%+v", parts)
	}
	g := load(t, serve(t, "tcp", echoing), &Echo{}, func(c *Config) { c.Parts, c.Connections, c.Loops = parts, 8, 2 })
	s, _ := run(t, g, Phase{Time: short, From: 400, To: 400})
	for _, w := range s.Windows {
		faultless(t, w)
	}
	if a, b := s.Windows[0].Messages, s.Windows[1].Messages; a < 29 || a > 31 || b < 9 || b > 11 {
		t.Errorf("%d and %d messages of 400/s in 0.1 s with weights 3 and 1", a, b)
	}
	parts, err = ParseScenario([]byte("parts: [{mode: echo, weight: 3, connections: 1}, {mode: connect, connections: 5}]"))
	if err != nil {
		t.Fatal(err)
	}
	g = load(t, serve(t, "tcp", echoing), &Echo{}, func(c *Config) { c.Parts = parts })
	s, _ = run(t, g, Phase{Time: short, From: 400, To: 400})
	if a, b := s.Windows[0].Messages, s.Windows[1].Messages; g.Connections() != 6 || s.Open != 1 || a < 29 || a > 31 ||
		b < 9 || b > 11 {
		t.Errorf("%d and %d messages of 400/s in 0.1 s with weights 3 and 1; %d open of %d connections", a, b, s.Open,
			g.Connections())
	}
	parts[0].Connections = 0
	if _, err := New(Config{Parts: parts}); err == nil || !strings.Contains(err.Error(), "either every part has") {
		t.Errorf("one part of two has a number of connections: %v", err)
	}
	for _, bad := range []string{"", "parts: []", "parts: [{mode: x}]", "parts: [{mode: echo, options: {sise: 3}}]",
		"parts: [{mode: echo, weigth: 3}]", "parts: [{mode: echo, options: {size: x}}]"} {
		if p, err := ParseScenario([]byte(bad)); err == nil {
			t.Errorf("%q was taken for %+v", bad, p)
		}
	}
}
