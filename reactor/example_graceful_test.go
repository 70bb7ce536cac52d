//go:build linux

package reactor_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// graceful is a server that answers what it has begun before it stops.
type graceful struct {
	listener reactor.Socket
	drain    stop.Source          // for what begins new work
	conns    sender.CountingScope // the connections
	onWork   func()
}

// accept accepts connections until the drain.
func (g *graceful) accept(t *task.T) error {
	env := sender.StopEnv{Token: g.drain.Token()}
	for {
		fd, err := task.Await(t, sender.WriteEnv(g.listener.Accept(), env))
		if err != nil {
			return err
		}
		c := new(reactor.Socket)
		c.Init(g.listener.Loop(), fd)
		serve := task.New(func(t *task.T) error { return g.serve(t, c) })
		sender.SpawnOr(&g.conns, sender.StartsOn(c.Loop(), serve), func() { closeSoon(c) })
	}
}

// serve answers each request. The drain ends the wait for a request, and never a reply.
func (g *graceful) serve(t *task.T, c *reactor.Socket) error {
	defer task.Unstoppable(t, func() { _, _ = task.Await(t, c.Close()) })
	env := sender.StopEnv{Token: g.drain.Token()}
	buf := make([]byte, 512)
	for {
		n, err := task.Await(t, sender.WriteEnv(c.Recv(buf), env))
		if err != nil || n == 0 {
			return err
		}
		g.onWork()
		if _, err := task.Await(t, c.Loop().SleepFor(20*time.Millisecond)); err != nil {
			return err
		}
		if _, err := task.Await(t, c.SendAll(buf[:n])); err != nil {
			return err
		}
	}
}

// closeSoon closes a socket that no task has begun to own.
func closeSoon(c *reactor.Socket) {
	op := new(reactor.CloseOp)
	c.Close().Connect(op, sender.Discard[struct{}]{}).Start()
}

func Example_gracefulStop() {
	ctx, interrupt := context.WithCancel(context.Background()) // in place of signal.NotifyContext
	ended, stopLoops := context.WithCancel(context.Background())
	g := &graceful{onWork: interrupt}
	g.conns.OnError = func(err error) { fmt.Println(err) }
	context.AfterFunc(ctx, func() {
		g.drain.RequestStop()
		limit, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		joined := sender.AsFuture(g.conns.Join())
		select {
		case <-joined.Done():
		case <-limit.Done(): // what is left is cut short
		}
		stopLoops()
	})
	addr := make(chan netip.AddrPort, 1)
	var client sync.WaitGroup
	client.Go(func() {
		c, err := net.Dial("tcp", (<-addr).String())
		if err != nil {
			fmt.Println(err)
			return
		}
		_, _ = io.WriteString(c, "hello")
		reply, err := io.ReadAll(c)
		fmt.Printf("%s %v\n", reply, err)
		c.Close()
	})
	err := reactor.Run(ended, reactor.Config{Loops: 1}, func(l *reactor.Loop) error {
		cfg := reactor.ListenConfig{Addr: netip.MustParseAddrPort("127.0.0.1:0")}
		if err := g.listener.OpenListener(l, cfg); err != nil {
			return err
		}
		at, err := g.listener.LocalAddr()
		addr <- at
		l.Spawn(task.New(func(t *task.T) error {
			defer task.Unstoppable(t, func() { _, _ = task.Await(t, g.listener.Close()) })
			return g.accept(t)
		}))
		return err
	})
	client.Wait()
	fmt.Println(err)
	// Output:
	// hello <nil>
	// <nil>
}
