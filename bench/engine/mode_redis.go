package engine

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/reactord/reactord/bench/record"
)

// Redis sends commands in RESP, with Pipeline outstanding commands on each connection. All keys have the same value,
// which is compared when bytes are verified. The command get sets each key once first; mixed is nine gets for each
// set. An error reply counts as a failure.
type Redis struct {
	Command  string `yaml:"command" enum:"ping,set,get,mixed" default:"ping" help:"The command: ping, set, get or mixed."`
	Keys     int    `yaml:"keys" default:"1000" help:"Number of keys."`
	Size     int    `yaml:"size" default:"128" help:"Bytes of a value."`
	Pipeline int    `yaml:"pipeline" default:"1" help:"Outstanding commands on each connection."`

	value    []byte
	set, get [][]byte // by key
}

func (m *Redis) prepare(cfg *Config) error {
	if m.Command == "" {
		m.Command = "ping"
	}
	switch m.Command {
	case "ping", "set", "get", "mixed":
	default:
		return fmt.Errorf("the commands are ping, set, get and mixed, not %q", m.Command)
	}
	if m.Keys == 0 {
		m.Keys = 1000
	}
	if m.Size == 0 {
		m.Size = 128
	}
	if m.Keys < 0 || m.Size < 0 || m.Size > MaxMessage || m.Keys > 1<<20 || m.Keys*m.Size > 1<<30 {
		return fmt.Errorf("%d keys with values of %d bytes", m.Keys, m.Size)
	}
	m.value = bytes.Clone(NewPattern(cfg.Seed, true, m.Size).At(0, m.Size))
	for i := range m.Keys {
		key := fmt.Sprintf("bench:%d", i)
		m.get = append(m.get, resp("GET", key))
		m.set = append(m.set, resp("SET", key, string(m.value)))
	}
	if err := cfg.needStream(); err != nil {
		return err
	}
	return checkDepth(&m.Pipeline)
}

// resp returns the encoded command.
func resp(words ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, w := range words {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b
}

func (m *Redis) persistent() bool { return true }
func (m *Redis) maxPiece() int    { return 1 }

func (m *Redis) session(c *conn) session {
	return newExchange(c, &redisCodec{c: c, mode: m, next: c.index}, m.Pipeline)
}

var ping = resp("PING")

// redisCodec parses replies. See https://redis.io/docs/latest/develop/reference/protocol-spec.
type redisCodec struct {
	c     *conn
	mode  *Redis
	next  int // number of the connection plus number of its commands
	line  []byte
	bulk  int // bytes of a string, with its end; -1: a line is next
	at    int // received bytes of the string
	items int // missing items of arrays
}

func (r *redisCodec) reset() { r.line, r.bulk, r.items, r.next = r.line[:0], -1, 0, r.c.index }

func (r *redisCodec) last() bool { return false }

func (r *redisCodec) request() []byte {
	m := r.mode
	i := r.next
	r.next++
	key := i % m.Keys
	switch {
	case m.Command == "ping":
		return ping
	case m.Command == "set",
		i-r.c.index < m.Keys, // the first commands set the keys
		m.Command == "mixed" && i%10 == 0:
		return m.set[key]
	}
	return m.get[key]
}

func (r *redisCodec) reply(p []byte) (n int, done bool, err error) {
	for n < len(p) {
		if r.bulk >= 0 {
			k := min(r.bulk, len(p)-n)
			if err := r.compare(p[n : n+k]); err != nil {
				return n, false, err
			}
			n, r.bulk, r.at = n+k, r.bulk-k, r.at+k
			if r.bulk > 0 {
				return n, false, nil
			}
			r.bulk = -1
			if r.items == 0 {
				return n, true, nil
			}
			r.items--
			continue
		}
		i := bytes.IndexByte(p[n:], '\n')
		if i < 0 {
			if r.line = append(r.line, p[n:]...); len(r.line) > maxLine {
				return n, false, failure(record.Protocol)
			}
			return len(p), false, nil
		}
		line := p[n : n+i]
		if len(r.line) > 0 {
			r.line = append(r.line, line...)
			line = r.line
		}
		n += i + 1
		done, err = r.take(bytes.TrimSuffix(line, []byte("\r")))
		r.line = r.line[:0]
		if done || err != nil {
			return n, done, err
		}
	}
	return n, false, nil
}

// take parses a line.
func (r *redisCodec) take(line []byte) (done bool, err error) {
	if len(line) == 0 {
		return false, failure(record.Protocol)
	}
	switch line[0] {
	case '+', ':':
	case '-':
		return r.items == 0, failure(record.Status)
	case '$', '*':
		size, err := strconv.Atoi(string(line[1:]))
		if err != nil || size < -1 || size > 1<<29 {
			return false, failure(record.Protocol)
		}
		if line[0] == '*' {
			r.items += max(size, 0)
		} else if size >= 0 {
			r.bulk, r.at = size+2, 0
			return false, nil
		}
	default:
		return false, failure(record.Protocol)
	}
	if r.items == 0 {
		return true, nil
	}
	r.items--
	return false, nil
}

// compare checks a part of a value: the bytes from r.at on, which may include its end of line.
func (r *redisCodec) compare(p []byte) error {
	if !r.c.worker().verify || r.mode.Command == "ping" {
		return nil
	}
	left := max(len(r.mode.value)-r.at, 0)
	body := p[:min(len(p), left)]
	if r.at > len(r.mode.value)+2 || !bytes.Equal(body, r.mode.value[min(r.at, len(r.mode.value)):][:len(body)]) {
		return failure(record.Corrupt)
	}
	r.c.group.win.Verified += int64(len(body))
	return nil
}
