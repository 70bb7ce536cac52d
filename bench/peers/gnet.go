package main

import (
	"context"
	"time"

	"github.com/panjf2000/gnet/v2"

	"github.com/reactord/reactord/bench/resp"
)

// gnetServer calls traffic when a loop has read from a connection.
type gnetServer struct {
	gnet.BuiltinEventEngine

	booted  chan gnet.Engine
	traffic func(c gnet.Conn) error // an error ends the connection
}

func (s *gnetServer) OnBoot(e gnet.Engine) gnet.Action {
	s.booted <- e
	return gnet.None
}

func (s *gnetServer) OnTraffic(c gnet.Conn) gnet.Action {
	if err := s.traffic(c); err != nil {
		return gnet.Close
	}
	return gnet.None
}

// gnetEcho sends back what the loop has read, from the loop's own buffer.
func gnetEcho(ctx context.Context, address string, loops int) error {
	return gnetServe(ctx, address, loops, func(c gnet.Conn) error {
		data, err := c.Next(-1)
		if err != nil {
			return err
		}
		_, err = c.Write(data)
		return err
	})
}

// gnetRedis answers from the loop's own buffer, where an incomplete command stays.
func gnetRedis(ctx context.Context, address string, loops int) error {
	store := &resp.Store{}
	return gnetServe(ctx, address, loops, func(c gnet.Conn) error {
		in, err := c.Peek(-1)
		if err != nil {
			return err
		}
		replies, _ := c.Context().(*[]byte)
		if replies == nil {
			replies = new([]byte)
			c.SetContext(replies)
		}
		used, out, failed := store.Answer(in, (*replies)[:0])
		*replies = out
		if used > 0 { // Discard(0) would discard everything
			if _, err := c.Discard(used); err != nil {
				return err
			}
		}
		if len(out) > 0 {
			if _, err := c.Write(out); err != nil {
				return err
			}
		}
		return failed
	})
}

func gnetServe(ctx context.Context, address string, loops int, traffic func(gnet.Conn) error) error {
	s := &gnetServer{booted: make(chan gnet.Engine, 1), traffic: traffic}
	ended := make(chan error, 1)
	go func() {
		ended <- gnet.Run(s, "tcp://"+address,
			gnet.WithNumEventLoop(loops),
			gnet.WithReusePort(true))
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case engine := <-s.booted:
		limit, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		if err := engine.Stop(limit); err != nil {
			return err
		}
		return <-ended
	case err := <-ended:
		return err
	}
}

// stopLimit bounds the time in which a server stops.
const stopLimit = 5 * time.Second
