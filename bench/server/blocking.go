package server

import (
	"time"

	"github.com/reactord/reactord/bench/engine"
)

// stream is a connection whose methods block the caller: a goroutine or a coroutine.
type stream interface {
	Read(p []byte) (int, error) // 0 and no error: EOF
	Write(p []byte) error       // all of p
	Sleep(d time.Duration) error
}

// serve runs the behaviour of the server until an error or EOF.
func (c *Config) serve(s stream) error {
	switch c.Behaviour {
	case "chargen":
		return c.generate(s)
	case "reply":
		return c.reply(s)
	case "redis":
		return c.redis(s)
	}
	buf := make([]byte, chunk)
	for {
		n, err := s.Read(buf)
		if err != nil || n == 0 {
			return err
		}
		if c.Behaviour == "discard" {
			continue
		}
		if c.Behaviour == "delay" {
			if err := s.Sleep(c.Delay); err != nil {
				return err
			}
		}
		if err := s.Write(buf[:n]); err != nil {
			return err
		}
	}
}

// generate sends without end, and receives nothing.
func (c *Config) generate(s stream) error {
	p := c.pattern()
	for at := int64(0); ; at += chunk {
		if err := s.Write(p.At(at, chunk)); err != nil {
			return err
		}
	}
}

// pattern returns what chargen sends. A load with the same seed can verify it.
func (c *Config) pattern() *engine.Pattern { return engine.NewPattern(c.Seed, true, chunk) }

func (c *Config) reply(s stream) error {
	buf, answer := make([]byte, chunk), make([]byte, c.Reply)
	for owed := 0; ; {
		n, err := s.Read(buf)
		if err != nil || n == 0 {
			return err
		}
		for owed += n; owed >= c.Request; owed -= c.Request {
			if err := s.Write(answer); err != nil {
				return err
			}
		}
	}
}
