package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	maxWaiting   = 64              // messages that wait for a member; one who has more is dropped
	writeTimeout = 5 * time.Second // of a message
)

var errSlow = errors.New("does not read")

// hub is the connections of the server.
type hub struct {
	connections sync.WaitGroup

	mu      sync.Mutex
	members map[*member]struct{} // of /broadcast
}

// member is one who gets all messages.
type member struct {
	messages chan []byte
	drop     context.CancelCauseFunc
}

// accept makes an HTTP handler of one of WebSocket connections. When ctx is done they are closed with the status "going
// away".
func (h *hub) accept(ctx context.Context, serve func(context.Context, *websocket.Conn) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h.connections.Add(1)
		defer h.connections.Done()
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return // the client has been notified
		}
		defer func() { _ = c.CloseNow() }()
		defer context.AfterFunc(ctx, func() { _ = c.Close(websocket.StatusGoingAway, "the server stops") })()
		err = serve(context.WithoutCancel(r.Context()), c)
		if errors.Is(err, errSlow) {
			_ = c.Close(websocket.StatusPolicyViolation, err.Error())
		} else if websocket.CloseStatus(err) == -1 && ctx.Err() == nil {
			log.Print(err)
		}
	}
}

// echo sends messages back until the client closes.
func echo(ctx context.Context, c *websocket.Conn) error {
	for {
		typ, message, err := c.Read(ctx)
		if err != nil {
			return err
		}
		if err := write(ctx, c, typ, message); err != nil {
			return err
		}
	}
}

// broadcast sends the messages of one member to all.
func (h *hub) broadcast(ctx context.Context, c *websocket.Conn) error {
	ctx, drop := context.WithCancelCause(ctx)
	defer drop(nil)
	m := &member{messages: make(chan []byte, maxWaiting), drop: drop}
	h.join(m)
	defer h.leave(m)
	go func() {
		drop(m.sendAll(ctx, c))
	}()
	for {
		_, message, err := c.Read(ctx)
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		h.publish(message)
	}
}

// sendAll sends what is published until the member leaves.
func (m *member) sendAll(ctx context.Context, c *websocket.Conn) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case message := <-m.messages:
			if err := write(ctx, c, websocket.MessageText, message); err != nil {
				return err
			}
		}
	}
}

func (h *hub) join(m *member) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.members == nil {
		h.members = map[*member]struct{}{}
	}
	h.members[m] = struct{}{}
}

func (h *hub) leave(m *member) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.members, m)
}

// publish gives a message to all members, and waits for none of them.
func (h *hub) publish(message []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for m := range h.members {
		select {
		case m.messages <- message:
		default:
			m.drop(errSlow)
		}
	}
}

func write(ctx context.Context, c *websocket.Conn, typ websocket.MessageType, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return c.Write(ctx, typ, message)
}
