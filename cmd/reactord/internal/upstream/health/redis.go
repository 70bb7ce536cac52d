package health

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// redis logs in if there is a password, and sends PING, or ROLE to learn the role.
//
// Source: "Redis serialization protocol specification".
func (p *probe) redis(rw io.ReadWriter, c *config.Check) error {
	if c.Password != "" {
		p.in = "AUTH: "
		p.hidden = append(p.hidden, []byte(c.Password))
		words := []string{"AUTH", c.User, c.Password}
		if c.User == "" {
			words = []string{"AUTH", c.Password}
		}
		if err := p.redisAsk(rw, "+OK", words...); err != nil {
			return err
		}
	}
	if !wantsRole(c) {
		p.in = "PING: "
		return p.redisAsk(rw, "+PONG", "PING")
	}
	p.in = "ROLE: "
	if err := p.redisAsk(rw, "*", "ROLE"); err != nil {
		return err
	}
	if _, err := p.redisLine(rw); err != nil { // the length of the role
		return err
	}
	role, err := p.redisLine(rw)
	if err != nil {
		return err
	}
	switch string(role) {
	case "master":
		return p.compareRole(c, config.Primary)
	case "slave":
		return p.compareRole(c, config.Replica)
	}
	return fmt.Errorf("the server is neither a primary nor a replica: %s", quote(role))
}

// redisAsk sends a command, and expects a line that begins with want.
func (p *probe) redisAsk(rw io.ReadWriter, want string, words ...string) error {
	command := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, w := range words {
		command = append(command, "$"+strconv.Itoa(len(w))+"\r\n"+w+"\r\n"...)
	}
	if err := p.send(rw, command); err != nil {
		return err
	}
	line, err := p.redisLine(rw)
	if err == nil && !bytes.HasPrefix(line, []byte(want)) {
		err = fmt.Errorf("the server answers %s", quote(p.redact(line)))
	}
	return err
}

// redisLine receives a line, and returns it without its end.
func (p *probe) redisLine(r io.Reader) ([]byte, error) {
	end := 0
	got, err := p.receive(r, answerLimit, func(got []byte) bool {
		end = bytes.Index(got, []byte("\r\n"))
		return end >= 0
	})
	if err == nil {
		p.used += end + 2
		return got[:end], nil
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("connection closed after %s", quote(p.redact(got)))
	} else if errors.Is(err, io.ErrShortBuffer) {
		err = fmt.Errorf("a line is longer than %d bytes: %s", answerLimit, quote(p.redact(got)))
	}
	return nil, err
}

// wantsRole reports whether the server must have a role.
func wantsRole(c *config.Check) bool { return c.Role != config.AnyRole && c.Role != "" }

// compareRole compares the role of the server with the one that it must have.
func (p *probe) compareRole(c *config.Check, is config.ServerRole) error {
	if is == c.Role {
		return nil
	}
	p.step = "role"
	return fmt.Errorf("%s, want %s", is, c.Role)
}
