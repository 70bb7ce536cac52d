package proxy

import (
	"context"
	"net"
	"time"
)

// PauseBackend pauses a backend for a time from now on: no server gets a new connection of it, and clients wait. A
// pause that lasts already ends at the new time. found is false if the plan in force has no such backend. It may be
// called from any goroutine, and returns when the pause is in force, or with an error when ctx is done or the proxy has
// ended.
func (p *Proxy) PauseBackend(ctx context.Context, backend string, length time.Duration) (found bool, err error) {
	done := make(chan bool, 1)
	w := p.workers[0]
	c := &pauseCall{ended: make(chan struct{})}
	c.w, c.f = w, func(*worker) { done <- p.upstreams.Pause(backend, length) }
	c.Runner = c
	w.loop.Enqueue(&c.Work)
	select {
	case found = <-done:
		return found, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-c.ended:
		return false, net.ErrClosed
	}
}

// pauseCall is a call that says when it is not made, because the loop has ended.
type pauseCall struct {
	call
	ended chan struct{}
}

// Abandon says so.
func (c *pauseCall) Abandon(error) { close(c.ended) }

// ResumeBackend ends the pause of a backend, if it is paused. found is false if the plan in force has no such backend.
// It may be called from any goroutine.
func (p *Proxy) ResumeBackend(backend string) (found bool) { return p.upstreams.Resume(backend) }
