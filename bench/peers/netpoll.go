package main

import (
	"context"
	"os"

	"github.com/cloudwego/netpoll"
)

// netpollRequest sends back everything that has been read. A long message is not copied: WriteBinary links it, and
// Release comes after Flush, which returns when the socket has taken it.
func netpollRequest(_ context.Context, c netpoll.Connection) error {
	reader, writer := c.Reader(), c.Writer()
	data, err := reader.Next(reader.Len())
	if err != nil {
		return err
	}
	if _, err := writer.WriteBinary(data); err != nil {
		return err
	}
	if err := writer.Flush(); err != nil {
		return err
	}
	return reader.Release()
}

func netpollEcho(ctx context.Context, address string, loops int) error {
	if err := netpoll.Configure(netpoll.Config{PollerNum: loops, LoggerOutput: os.Stderr}); err != nil {
		return err
	}
	listener, err := netpoll.CreateListener("tcp", address)
	if err != nil {
		return err
	}
	server, err := netpoll.NewEventLoop(netpollRequest)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	if err := server.Shutdown(limit); err != nil {
		return err
	}
	return <-ended
}
