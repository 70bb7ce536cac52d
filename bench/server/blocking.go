package server

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/reactord/reactord/bench/engine"
)

// serve runs the behaviour of the server until an error or EOF. The methods of conn and sleep block the caller: a
// goroutine or a coroutine.
func (c *Config) serve(conn net.Conn, sleep func(time.Duration) error) error {
	err := c.behave(conn, sleep)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (c *Config) behave(conn net.Conn, sleep func(time.Duration) error) error {
	switch {
	case c.Behaviour == "chargen":
		return c.generate(conn)
	case c.Behaviour == "reply":
		return c.reply(conn)
	case c.Behaviour == "redis":
		return c.redis(conn)
	case c.Behaviour == "http":
		return answerRequests(conn)
	}
	buf := make([]byte, chunk)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return err
		}
		if c.Behaviour == "discard" {
			continue
		}
		if c.Behaviour == "delay" {
			if err := sleep(c.Delay); err != nil {
				return err
			}
		}
		if _, err := conn.Write(buf[:n]); err != nil {
			return err
		}
	}
}

// generate sends without end, and receives nothing.
func (c *Config) generate(conn net.Conn) error {
	p := c.pattern()
	for at := int64(0); ; at += chunk {
		if _, err := conn.Write(p.At(at, chunk)); err != nil {
			return err
		}
	}
}

// pattern returns what chargen sends. A load with the same seed can verify it.
func (c *Config) pattern() *engine.Pattern { return engine.NewPattern(c.Seed, true, chunk) }

func (c *Config) reply(conn net.Conn) error {
	buf, answer := make([]byte, chunk), make([]byte, c.Reply)
	for owed := 0; ; {
		n, err := conn.Read(buf)
		if err != nil {
			return err
		}
		for owed += n; owed >= c.Request; owed -= c.Request {
			if _, err := conn.Write(answer); err != nil {
				return err
			}
		}
	}
}
