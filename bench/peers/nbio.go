package main

import (
	"context"
	"os"

	"github.com/lesismal/nbio"
	"github.com/lesismal/nbio/logging"
)

// nbioEcho reads on the poller's own goroutine. Write copies bytes that the socket does not take, so it can send
// from the poller's buffer.
func nbioEcho(ctx context.Context, address string, loops int) error {
	logging.Output = os.Stderr
	logging.SetLevel(logging.LevelError)
	engine := nbio.NewEngine(nbio.Config{
		Network: "tcp",
		Addrs:   []string{address},
		NPoller: loops,
	})
	engine.OnData(func(c *nbio.Conn, data []byte) {
		_, _ = c.Write(data) // an error has closed the connection
	})
	if err := engine.Start(); err != nil {
		return err
	}
	<-ctx.Done()
	limit, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	return engine.Shutdown(limit)
}
