package main

import (
	"context"
	"time"

	"github.com/panjf2000/gnet/v2"
)

// gnetServer sends back what the loop has read, from the loop's own buffer.
type gnetServer struct {
	gnet.BuiltinEventEngine

	booted chan gnet.Engine
}

func (s *gnetServer) OnBoot(e gnet.Engine) gnet.Action {
	s.booted <- e
	return gnet.None
}

func (s *gnetServer) OnTraffic(c gnet.Conn) gnet.Action {
	data, err := c.Next(-1)
	if err != nil {
		return gnet.Close
	}
	if _, err := c.Write(data); err != nil {
		return gnet.Close
	}
	return gnet.None
}

func gnetEcho(ctx context.Context, address string, loops int) error {
	s := &gnetServer{booted: make(chan gnet.Engine, 1)}
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
