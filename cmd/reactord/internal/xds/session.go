package xds

import (
	"context"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/xds/ads"
)

// session serves one stream, until it ends.
func (c *Client) session(s Stream) error {
	ctx, end := context.WithCancel(context.Background())
	sent := make(chan struct{})
	sendable := make(chan struct{}, 1)
	c.begin(s, sendable)
	go func() {
		defer close(sent)
		_ = c.sends(ctx, s, sendable) // what ends the stream ends receiving, too, which says why
	}()
	err := c.receives(s)
	end()
	if open, ok := s.(interface{ Close() }); ok {
		open.Close() // a request may wait for a server that does not read
	}
	<-sent
	c.mu.Lock()
	defer c.mu.Unlock()
	c.machine.End()
	c.status.heardOf(s)
	c.sendable, c.status.stream = nil, nil
	return err
}

// begin has the machine begin a stream.
func (c *Client) begin(s Stream, sendable chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	server := s.Server()
	c.machine.Begin(server == c.status.versionsOf)
	c.status.versionsOf, c.status.stream = server, s
	c.sendable = sendable
	c.send()
}

// send has the stream send what there is to be sent. It is called with the lock.
func (c *Client) send() {
	select {
	case c.sendable <- struct{}{}:
	default: // it is told already, or there is none
	}
}

// sends sends requests until ctx is done or a request cannot be sent.
func (c *Client) sends(ctx context.Context, s Stream, sendable <-chan struct{}) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-sendable:
		}
		for {
			c.mu.Lock()
			r := c.machine.Next(time.Now())
			c.mu.Unlock()
			if r == nil {
				break
			}
			if err := s.Send(r); err != nil {
				return err
			}
		}
	}
}

// receives receives responses. The next one is read when the one before is understood, and what waits for the plan
// is in force if it is of the same type.
func (c *Client) receives(s Stream) error {
	done := make(chan error, 1)
	for {
		r := &ads.Response{}
		if err := s.Recv(r); err != nil {
			return err
		}
		select {
		case c.events <- event{r, done}:
		case <-c.done:
			return context.Canceled
		}
		select {
		case err := <-done:
			if err != nil {
				return err
			}
		case <-c.done:
			return context.Canceled
		}
	}
}
