package main

import (
	"bytes"
	"errors"
	"sync"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/reactor/server"
)

const (
	maxLine   = 4 << 10 // bytes
	maxUnsent = 1 << 20 // bytes that may wait for a member to read
)

var errSlow = errors.New("the member does not read")

// hall is all members: those of each loop are in a room.
type hall struct {
	mu    sync.Mutex
	rooms []*room
}

// room has the members of one loop. Its methods are called on that loop.
type room struct {
	hall    *hall
	members map[*server.Conn]struct{}
	mailbox reactor.Mailbox[message]
}

// message is a line, and who said it.
type message struct {
	from *server.Conn
	line []byte
}

func (h *hall) newRoom(l *reactor.Loop) server.Handler {
	r := &room{hall: h, members: map[*server.Conn]struct{}{}}
	r.mailbox.Init(l, r)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rooms = append(h.rooms, r)
	return r
}

// say sends a message to all rooms. From any thread.
func (h *hall) say(m message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.rooms {
		r.mailbox.Post(&reactor.Envelope[message]{Value: m})
	}
}

// OnMessage passes a message on to the members. The bytes that a member has not read yet are in the memory of the
// server, so there is a limit: beyond it the member is dropped.
func (r *room) OnMessage(e *reactor.Envelope[message]) {
	for c := range r.members {
		switch {
		case c == e.Value.from:
		case c.Unsent() > maxUnsent:
			c.CloseWithError(errSlow)
		default:
			_, _ = c.Write(e.Value.line) // it fails if the connection is being closed
		}
	}
}

// Open lets a member in.
func (r *room) Open(c *server.Conn) { r.members[c] = struct{}{} }

// Closed lets a member out.
func (r *room) Closed(c *server.Conn, _ error) { delete(r.members, c) }

// Data calls say for each complete line.
func (r *room) Data(c *server.Conn, in, out []byte) (int, []byte, error) {
	return server.Frames(c, in, out, server.Lines{Max: maxLine}, r.say)
}

func (r *room) say(c *server.Conn, line, _ []byte) ([]byte, error) {
	r.hall.say(message{c, append(bytes.Clone(line), '\n')})
	return nil, nil
}

// Drain sends a farewell when the server shuts down.
func (r *room) Drain(c *server.Conn) { _, _ = c.Write([]byte("* the server stops\n")) }
