package main

import (
	"io"
	"math"
	"strconv"
	"sync"
)

// database is a map of keys and values that speaks RESP. All connections of all loops share it. Its mutex is locked
// once for all commands that have arrived together.
type database struct {
	mu     sync.Mutex
	parser parser
	values map[string]*value
}

type value struct{ bytes []byte }

func newDatabase() *database { return &database{values: map[string]*value{}} }

// serve carries out the complete commands of in, and appends their replies to out. used is how many bytes of in they
// were. The error is io.EOF after QUIT, or what is wrong with what the client has sent; then the reply in out says so,
// too.
func (db *database) serve(in, out []byte) (used int, _ []byte, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for {
		args, n, err := db.parser.next(in[used:])
		if err != nil {
			return used, appendError(out, "Protocol error: "+err.Error()), err
		}
		if n == 0 {
			return used, out, nil
		}
		used += n
		if len(args) == 0 {
			continue
		}
		if out, err = db.execute(args, out); err != nil {
			return used, out, err
		}
	}
}

// execute carries out one command.
func (db *database) execute(args [][]byte, out []byte) ([]byte, error) {
	var upper [16]byte
	name, args := upper[:copy(upper[:], args[0])], args[1:]
	for i, c := range name {
		if 'a' <= c && c <= 'z' {
			name[i] = c - 'a' + 'A'
		}
	}
	switch string(name) {
	case "GET":
		if len(args) == 1 {
			return db.get(args[0], out), nil
		}
	case "SET":
		if len(args) == 2 {
			db.set(args[0], args[1])
			return append(out, "+OK\r\n"...), nil
		}
	case "DEL", "EXISTS":
		return appendInt(out, ':', db.count(args, string(name) == "DEL")), nil
	case "INCR":
		if len(args) == 1 {
			return db.increment(args[0], out), nil
		}
	case "PING":
		if len(args) == 0 {
			return append(out, "+PONG\r\n"...), nil
		}
		return appendBulk(out, args[0]), nil
	case "ECHO":
		if len(args) == 1 {
			return appendBulk(out, args[0]), nil
		}
	case "COMMAND", "CONFIG": // redis-cli and redis-benchmark ask, and take nothing for an answer
		return append(out, "*0\r\n"...), nil
	case "QUIT":
		return append(out, "+OK\r\n"...), io.EOF
	default:
		return appendError(out, "unknown command"), nil
	}
	return appendError(out, "wrong number of arguments"), nil
}

func (db *database) get(key, out []byte) []byte {
	v := db.values[string(key)]
	if v == nil {
		return append(out, "$-1\r\n"...)
	}
	return appendBulk(out, v.bytes)
}

func (db *database) set(key, val []byte) {
	v := db.values[string(key)]
	if v == nil {
		v = new(value)
		db.values[string(key)] = v
	}
	v.bytes = append(v.bytes[:0], val...)
}

// count counts the keys that exist, and removes them if remove is set.
func (db *database) count(keys [][]byte, remove bool) (n int) {
	for _, key := range keys {
		if _, ok := db.values[string(key)]; ok {
			n++
			if remove {
				delete(db.values, string(key))
			}
		}
	}
	return n
}

func (db *database) increment(key, out []byte) []byte {
	n := 0
	if v := db.values[string(key)]; v != nil {
		var err error
		if n, err = strconv.Atoi(string(v.bytes)); err != nil || n == math.MaxInt {
			return appendError(out, "value is not an integer or out of range")
		}
	}
	n++
	db.set(key, strconv.AppendInt(nil, int64(n), 10))
	return appendInt(out, ':', n)
}

func appendInt(out []byte, kind byte, n int) []byte {
	return append(strconv.AppendInt(append(out, kind), int64(n), 10), '\r', '\n')
}

func appendBulk(out, b []byte) []byte {
	return append(append(appendInt(out, '$', len(b)), b...), '\r', '\n')
}

func appendError(out []byte, text string) []byte {
	return append(append(append(out, "-ERR "...), text...), '\r', '\n')
}
