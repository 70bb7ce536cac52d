//go:build linux

package netconn_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/netconn"
	"github.com/reactord/reactord/sender/task"
	"golang.org/x/sys/unix"
)

// A protocol over bufio, in two tasks of one loop.
func ExampleNew() {
	l, err := reactor.NewLoop(reactor.LoopConfig{})
	if err != nil {
		log.Fatal(err)
	}
	err = l.Run(func() {
		var a, b reactor.Socket
		if err := reactor.OpenPair(l, unix.SOCK_STREAM, &a, &b); err != nil {
			log.Fatal(err)
		}
		l.Spawn(task.New(func(t *task.T) error {
			c := netconn.New(t, &a)
			defer c.Close()
			lines := bufio.NewScanner(c)
			for lines.Scan() {
				fmt.Fprintf(c, "you said %s\n", lines.Text())
			}
			return lines.Err()
		}))
		l.Spawn(task.New(func(t *task.T) error {
			defer l.Stop()
			c := netconn.New(t, &b)
			defer c.Close()
			fmt.Fprint(c, "hello\n")
			answer, err := bufio.NewReader(c).ReadString('\n')
			fmt.Print(answer)
			return err
		}))
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: you said hello
}

// The server and the client of net/http over a loop.
func ExampleListen() {
	l, err := reactor.NewLoop(reactor.LoopConfig{})
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- l.Run(nil) }()

	ln, err := netconn.Listen(reactor.ListenConfig{Addr: loopback}, l)
	if err != nil {
		log.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello from %s\n", r.URL.Path)
	})}
	go func() { _ = srv.Serve(ln) }()

	c, err := netconn.Dial(context.Background(), l, "tcp", ln.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprint(c, "GET /loop HTTP/1.0\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		log.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	fmt.Print(string(body))
	c.Close()

	_ = srv.Close()
	l.Stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	// Output: hello from /loop
}

// The client of net/http over a loop in the background.
func ExampleDial() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }))
	defer srv.Close()

	r, err := reactor.New(reactor.Config{Loops: 1})
	if err != nil {
		log.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(nil) }()
	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return netconn.Dial(ctx, r.Loops()[0], network, address)
		},
	}}

	resp, err := client.Get(srv.URL)
	if err != nil {
		log.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	fmt.Print(string(body))

	client.CloseIdleConnections()
	r.Stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	// Output: hello
}
