package resp

import (
	"bytes"
	"strconv"
	"sync"
)

// A Store is the data of a server. Its zero value is empty. Any number of goroutines may use it.
type Store struct {
	mu     sync.Mutex // held for all commands that came together
	values map[string]*value
	words  [][]byte // of the current command
}

type value struct{ bytes []byte }

// Answer executes the complete commands at the beginning of in. It appends their replies to out and returns it, with
// the number of bytes that the commands had. The caller presents the rest again, together with what follows. After an
// error, which is [ErrProtocol], the connection ends when out has been sent.
func (s *Store) Answer(in, out []byte) (used int, _ []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		words, n, err := parse(in[used:], s.words[:0])
		if err != nil {
			return used, append(out, "-ERR Protocol error\r\n"...), err
		}
		if n == 0 {
			return used, out, nil
		}
		s.words = words
		used += n
		if len(words) > 0 { // an empty line has no reply
			out = s.execute(words, out)
		}
	}
}

func (s *Store) execute(words [][]byte, out []byte) []byte {
	switch name := words[0]; {
	case is(name, "GET") && len(words) == 2:
		v := s.values[string(words[1])]
		if v == nil {
			return append(out, "$-1\r\n"...)
		}
		return bulk(out, v.bytes)
	case is(name, "SET") && len(words) == 3:
		s.set(words[1], words[2])
		return append(out, "+OK\r\n"...)
	case is(name, "PING") && len(words) == 1:
		return append(out, "+PONG\r\n"...)
	case (is(name, "PING") || is(name, "ECHO")) && len(words) == 2:
		return bulk(out, words[1])
	case is(name, "DEL") && len(words) == 2:
		if s.values[string(words[1])] == nil {
			return append(out, ":0\r\n"...)
		}
		delete(s.values, string(words[1]))
		return append(out, ":1\r\n"...)
	case is(name, "COMMAND"):
		return append(out, "*0\r\n"...)
	}
	return append(out, "-ERR unknown command or wrong number of arguments\r\n"...)
}

// set copies a value. The bytes of an old value are used again.
func (s *Store) set(key, p []byte) {
	v := s.values[string(key)]
	if v == nil {
		if s.values == nil {
			s.values = map[string]*value{}
		}
		v = &value{}
		s.values[string(key)] = v
	}
	v.bytes = append(v.bytes[:0], p...)
}

// is reports whether a word is the name of a command, in upper or lower case.
func is(word []byte, name string) bool {
	return len(word) == len(name) && (string(word) == name || bytes.EqualFold(word, []byte(name)))
}

func bulk(out, p []byte) []byte {
	out = append(out, '$')
	out = strconv.AppendInt(out, int64(len(p)), 10)
	out = append(out, "\r\n"...)
	out = append(out, p...)
	return append(out, "\r\n"...)
}
