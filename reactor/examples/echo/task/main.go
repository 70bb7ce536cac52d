// Command task-echo is an echo server on the reactor, in the style of tasks: one for each connection, on the loop's own
// thread. With -ping it is a client of such a server.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/netip"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:7000", "address to listen on")
	ping := flag.String("ping", "", "address to send a message to, instead of listening")
	ring := flag.String("ring", "auto", "auto, io_uring or epoll")
	flag.Parse()

	l, err := reactor.NewLoop(reactor.LoopConfig{
		Ring:        reactor.RingKind(*ring),
		OnTaskError: func(err error) { log.Print(err) }, // a connection that fails does not stop the server
	})
	if err != nil {
		log.Fatal(err)
	}
	work := server(l, *listen)
	if *ping != "" {
		work = client(l, *ping, []byte("hello"), 3)
	}
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt)
	go func() {
		<-interrupt
		l.Stop()
	}()
	if err := l.Run(func() { l.Spawn(report(l, work)) }); err != nil {
		log.Fatal(err)
	}
}

// report is the main task. When it ends, the loop is stopped.
func report(l *reactor.Loop, work task.Sender) task.Sender {
	return task.New(func(t *task.T) error {
		defer l.Stop()
		_, err := task.Await(t, work)
		return err
	})
}

// server listens, and serves until it is stopped.
func server(l *reactor.Loop, address string) task.Sender {
	return task.New(func(t *task.T) error {
		addr, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		var s reactor.Socket
		if err := s.OpenListener(l, reactor.ListenConfig{Addr: addr}); err != nil {
			return err
		}
		return serve(t, &s)
	})
}

// serve accepts connections on s and spawns a task for each. It closes s before it returns.
func serve(t *task.T, s *reactor.Socket) error {
	defer task.Unstoppable(t, func() { _, _ = task.Await(t, s.Close()) })
	for {
		fd, err := task.Await(t, s.Accept())
		if err != nil {
			return err
		}
		c := new(reactor.Socket)
		c.Init(s.Loop(), fd)
		// While a loop drains it still delivers a connection that was accepted, but it begins no task any more.
		s.Loop().SpawnOr(echo(c), func() { sender.Submit(c.Close(), sender.Discard[struct{}]{}) })
	}
}

// echo sends back what it receives until EOF. It owns the connection.
func echo(c *reactor.Socket) task.Sender {
	return task.New(func(t *task.T) error {
		defer task.Unstoppable(t, func() { _, _ = task.Await(t, c.Close()) })
		_ = c.SetNoDelay(true)
		buf := make([]byte, 16<<10)
		for {
			n, err := task.Await(t, c.Recv(buf))
			if err != nil || n == 0 {
				return err
			}
			if _, err := task.Await(t, c.SendAll(buf[:n])); err != nil {
				return err
			}
		}
	})
}

// client sends the message so many times, and expects it back each time.
func client(l *reactor.Loop, address string, message []byte, times int) task.Sender {
	return task.New(func(t *task.T) error {
		addr, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		family := unix.AF_INET6
		if addr.Addr().Is4() {
			family = unix.AF_INET
		}
		c := new(reactor.Socket)
		if err := c.Open(l, family, unix.SOCK_STREAM, 0); err != nil {
			return err
		}
		defer task.Unstoppable(t, func() { _, _ = task.Await(t, c.Close()) })
		if _, err := task.Await(t, c.Dial(addr)); err != nil {
			return fmt.Errorf("connect to %v: %w", addr, err)
		}
		back := make([]byte, len(message))
		for range times {
			if _, err := task.Await(t, c.SendAll(message)); err != nil {
				return err
			}
			if err := recvFull(t, c, back); err != nil {
				return err
			}
			if !bytes.Equal(back, message) {
				return fmt.Errorf("sent %q and got %q", message, back)
			}
		}
		return nil
	})
}

// recvFull receives until buf is full.
func recvFull(t *task.T, c *reactor.Socket, buf []byte) error {
	for len(buf) > 0 {
		n, err := task.Await(t, c.Recv(buf))
		if err != nil {
			return err
		}
		if n == 0 {
			return errors.New("the peer closed the connection")
		}
		buf = buf[n:]
	}
	return nil
}
