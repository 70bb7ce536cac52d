package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/coder/websocket"

	"github.com/reactord/reactord/reactor/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

// client is a client of the library, over package net.
type client struct {
	*websocket.Conn
	ctx context.Context
}

func dial(t *testing.T, p *exampletest.Program, path string) client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), exampletest.Deadline)
	t.Cleanup(cancel)
	c, _, err := websocket.Dial(ctx, "ws://"+p.Addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.CloseNow() })
	return client{c, ctx}
}

func (c client) says(t *testing.T, message []byte) {
	t.Helper()
	if err := c.Write(c.ctx, websocket.MessageText, message); err != nil {
		t.Fatal(err)
	}
}

func (c client) hears(t *testing.T, want []byte) {
	t.Helper()
	if _, got, err := c.Read(c.ctx); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%.40q, %v; want %.40q", got, err, want)
	}
}

func TestEcho(t *testing.T) {
	exampletest.OnRings(t, func(t *testing.T, ring string) {
		p := exampletest.Start(t, "-ring", ring, "-loops", "2")
		c := dial(t, p, "/echo")
		for _, size := range []int{0, 1, 125, 126, 30_000} {
			message := bytes.Repeat([]byte("x"), size)
			c.says(t, message)
			c.hears(t, message)
		}
		if err := c.Close(websocket.StatusNormalClosure, ""); err != nil {
			t.Error(err)
		}
	})
}

// Each member gets the messages of all, in order, and learns that the server stops.
func TestBroadcast(t *testing.T) {
	exampletest.OnRings(t, func(t *testing.T, ring string) {
		p := exampletest.Start(t, "-ring", ring, "-loops", "2")
		var members []client
		for i := range 5 {
			members = append(members, dial(t, p, "/broadcast"))
			greeting := []byte{'0' + byte(i)}
			members[i].says(t, greeting)
			for _, m := range members {
				m.hears(t, greeting)
			}
		}
		for i := range 20 {
			members[i%2].says(t, []byte{byte(i)})
			for _, m := range members {
				m.hears(t, []byte{byte(i)})
			}
		}
		p.Terminate()
		for _, m := range members {
			if _, _, err := m.Read(m.ctx); websocket.CloseStatus(err) != websocket.StatusGoingAway {
				t.Errorf("the end: %v", err)
			}
		}
	})
}

// A member that does not read is dropped, and the others get everything.
func TestSlowReader(t *testing.T) {
	exampletest.OnRings(t, func(t *testing.T, ring string) {
		p := exampletest.Start(t, "-ring", ring)
		slow, speaker := dial(t, p, "/broadcast"), dial(t, p, "/broadcast")
		message := bytes.Repeat([]byte("x"), 30_000)
		for range 1000 {
			speaker.says(t, message)
			speaker.hears(t, message)
		}
		for n := 0; ; n++ {
			if _, _, err := slow.Read(slow.ctx); err != nil {
				if slow.ctx.Err() != nil || n >= 1000 {
					t.Errorf("after %d messages: %v", n, err)
				}
				return
			}
		}
	})
}

// The server survives a shortage of descriptors.
func TestShortage(t *testing.T) {
	exampletest.TestShortage(t, func(t *testing.T, p *exampletest.Program) {
		c := dial(t, p, "/echo")
		c.says(t, []byte("hello"))
		c.hears(t, []byte("hello"))
		c.CloseNow()
	})
}
