//go:build linux

package netconn_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender/task"
)

// serveHTTP serves until stop is called, which expects the server to end well.
func serveHTTP(t testing.TB, ln net.Listener, srv *http.Server) (stop func()) {
	t.Helper()
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	return func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	}
}

// clientOver is a client whose connections are on the loop.
func clientOver(l *running) (*http.Client, *http.Transport) {
	tr := &http.Transport{TLSClientConfig: clientConfig(), ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return netconn.Dial(ctx, l.Loop, network, address)
		}}
	return &http.Client{Transport: tr}, tr
}

func TestHTTP(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		ln := listen(t, l)
		stop := serveHTTP(t, ln, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n, err := io.Copy(io.Discard, r.Body)
			fmt.Fprint(w, r.RemoteAddr != "", n, err)
		})})
		client, tr := clientOver(l)
		for _, size := range []int64{0, 1, 100 << 20} {
			for range 3 {
				resp, err := client.Post("http://"+ln.Addr().String(), "", io.LimitReader(zeros{}, size))
				if err != nil {
					t.Fatal(err)
				}
				b, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if want := fmt.Sprint(true, size, nil); err != nil || string(b) != want {
					t.Errorf("answered %q, want %q: %v", b, want, err)
				}
			}
		}
		tr.CloseIdleConnections()
		stop()
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// HTTP/2 over TLS, with many requests together on one connection.
func TestHTTP2(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		ln := listen(t, l)
		srv := &http.Server{TLSConfig: serverConfig(t), Handler: http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				n, _ := io.Copy(w, r.Body)
				if r.ProtoMajor != 2 {
					t.Errorf("%s with %d bytes", r.Proto, n)
				}
			})}
		served := make(chan error, 1)
		go func() { served <- srv.ServeTLS(ln, "", "") }()
		client, tr := clientOver(l)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				resp, err := client.Post("https://"+ln.Addr().String(), "", io.LimitReader(zeros{}, 1<<20))
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				if n, err := io.Copy(io.Discard, resp.Body); n != 1<<20 || err != nil {
					t.Errorf("%d bytes came back: %v", n, err)
				}
			})
		}
		wg.Wait()
		tr.CloseIdleConnections()
		_ = srv.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

// A handler takes the connection over, and a server's deadline ends a connection that sends nothing.
func TestHTTPHijackAndDeadline(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		ln := listen(t, l)
		hijacked := make(chan struct{})
		stop := serveHTTP(t, ln, &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) {
				c, rw, err := http.NewResponseController(w).Hijack()
				close(hijacked)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				_ = c.SetDeadline(time.Time{})
				line, _ := rw.ReadString('\n')
				_, _ = rw.WriteString(line)
				_ = rw.Flush()
			})})
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		select {
		case <-hijacked:
		case <-time.After(20 * time.Second):
			t.Fatal("the request is not served")
		}
		fmt.Fprint(c, "mine\n")
		if b, err := io.ReadAll(c); string(b) != "mine\n" || err != nil {
			t.Errorf("a connection that was taken over gave %q, %v", b, err)
		}
		c.Close()
		if c, err = net.Dial("tcp", ln.Addr().String()); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(c); err != nil {
			t.Errorf("a connection that sends nothing: %v", err)
		}
		c.Close()
		stop()
	})
}

// The request parser of net/http in a task, under TLS.
func TestHTTPInTask(t *testing.T) {
	onRings(t, func(t *testing.T, l *running) {
		raw, wait := l.withConn(func(_ *task.T, c *netconn.Conn) error {
			s := netconn.Server(c, serverConfig(t))
			defer s.Close()
			r := bufio.NewReader(s)
			for {
				req, err := http.ReadRequest(r)
				if err != nil {
					return nil
				}
				resp := http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Body: req.Body,
					ContentLength: req.ContentLength}
				if err := resp.Write(s); err != nil {
					return err
				}
			}
		})
		tr := &http.Transport{DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
			return tls.Client(raw, clientConfig()), nil
		}}
		client := &http.Client{Transport: tr}
		for _, size := range []int64{1, 1 << 20} {
			req, _ := http.NewRequest(http.MethodPost, "https://localhost", io.LimitReader(zeros{}, size))
			req.ContentLength = size
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, resp.Body); n != size || err != nil {
				t.Errorf("%d bytes of %d came back: %v", n, size, err)
			}
			resp.Body.Close()
		}
		tr.CloseIdleConnections()
		wait()
	})
}
