//go:build linux

package reactor_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// A client in a task: it connects by name, sends a line, and waits for the answer for a second.
func ExampleRun() {
	addr, ended := echoServer()
	err := reactor.Run(context.Background(), reactor.Config{Loops: 1}, func(l *reactor.Loop) error {
		l.Spawn(task.New(func(t *task.T) error {
			defer l.Stop()
			return ask(t, l, addr)
		}))
		return nil
	})
	fmt.Println(err)
	<-ended
	// Output:
	// hello
	// <nil>
}

func ask(t *task.T, l *reactor.Loop, addr string) error {
	c, err := task.Await(t, reactor.Dial(l, "tcp", addr))
	if err != nil {
		return err
	}
	defer task.Unstoppable(t, func() { _, _ = task.Await(t, c.Close()) })
	if _, err := task.Await(t, c.SendAll([]byte("hello\n"))); err != nil {
		return err
	}
	buf := make([]byte, 512)
	n, err := task.Await(t, sender.Timeout(c.Recv(buf), l.SleepFor(time.Second)))
	fmt.Printf("%s", buf[:n])
	return err
}

// echoServer sends back one line, and returns its address, and a channel that it closes in the end.
func echoServer() (addr string, ended <-chan struct{}) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer ln.Close()
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		line := make([]byte, len("hello\n"))
		_, _ = io.ReadFull(c, line)
		_, _ = c.Write(line)
	}()
	return ln.Addr().String(), done
}
