package xds

import (
	"context"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/ads"
)

// session serves a stream until it ends.
func (c *Client) session(s Stream) error {
	ctx, end := context.WithCancel(context.Background())
	sent := make(chan struct{})
	sendable := make(chan struct{}, 1)
	c.begin(s, sendable)
	go func() {
		defer close(sent)
		_ = c.sends(ctx, s, sendable) // receiving ends as well, and returns the reason
	}()
	err := c.receives(s)
	end()
	if open, ok := s.(interface{ Close() }); ok {
		open.Close() // a request may be blocked on a server that does not read
	}
	<-sent
	c.mu.Lock()
	defer c.mu.Unlock()
	c.machine.End()
	c.status.heardOf(s)
	c.sendable, c.status.stream = nil, nil
	return err
}

// begin starts a stream of the machine.
func (c *Client) begin(s Stream, sendable chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	server := s.Server()
	c.machine.Begin(server == c.status.versionsOf)
	c.status.versionsOf, c.status.stream = server, s
	c.sendable = sendable
	c.send()
}

// send wakes the sending goroutine. It is called with the lock.
func (c *Client) send() {
	select {
	case c.sendable <- struct{}{}:
	default: // already woken, or no stream
	}
}

// sends sends requests until ctx is done or sending fails.
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

// receives receives responses. The next one is read once the previous one was understood, and if of the same type,
// applied.
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
