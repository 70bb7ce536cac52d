package main

import (
	"bytes"
	"io"
	"testing"
)

// What is sent in one piece, and the same in two pieces at any place, gets the same replies.
func FuzzServe(f *testing.F) {
	for _, in := range []string{
		"*1\r\n$4\r\nPING\r\n",
		"PING\r\nping hello\r\n\r\n",
		"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n\r\n\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
		"*2\r\n$4\r\nINCR\r\n$1\r\nk\r\n*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n*0\r\n",
		"*1\r\n$4\r\nQUIT\r\n*1\r\n$4\r\nPING\r\n",
	} {
		f.Add([]byte(in), 7)
	}
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		used, whole, err := newDatabase().serve(in, nil)
		if used < 0 || used > len(in) {
			t.Fatalf("%d of %d bytes used", used, len(in))
		}
		cut = int(uint(cut) % uint(len(in)+1))
		db := newDatabase()
		first, out, err1 := db.serve(bytes.Clone(in[:cut]), nil)
		second := 0
		if err1 == nil {
			second, out, err1 = db.serve(in[first:], out)
		}
		if first+second != used || !bytes.Equal(out, whole) || err1 != err {
			t.Errorf("in two pieces: %d bytes used, %q, %v; in one: %d, %q, %v", first+second, out, err1, used, whole, err)
		}
	})
}

func TestServe(t *testing.T) {
	for _, test := range []struct {
		in, out string
		rest    int
		err     error
	}{
		{in: "*1\r\n$4\r\nPING\r\n", out: "+PONG\r\n"},
		{in: "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPI", out: "+PONG\r\n", rest: 10},
		{in: "ping\n", out: "+PONG\r\n"},
		{in: "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", out: "$-1\r\n"},
		{in: "set k v\r\nget k\r\n", out: "+OK\r\n$1\r\nv\r\n"},
		{in: "set k v\r\nexists k j k\r\ndel k k\r\n", out: "+OK\r\n:2\r\n:1\r\n"},
		{in: "incr k\r\nincr k\r\nset k x\r\nincr k\r\n",
			out: ":1\r\n:2\r\n+OK\r\n-ERR value is not an integer or out of range\r\n"},
		{in: "get\r\n", out: "-ERR wrong number of arguments\r\n"},
		{in: "frobnicate\r\n", out: "-ERR unknown command\r\n"},
		{in: "quit\r\nping\r\n", out: "+OK\r\n", rest: 6, err: io.EOF},
		{in: "*x\r\n", out: "-ERR Protocol error: expected a number\r\n", rest: 4, err: errNumber},
		{in: "*1\r\n:4\r\n", out: "-ERR Protocol error: expected '$'\r\n", rest: 8, err: errNoDollar},
		{in: "*1\r\n$1\r\nPING\r\n", out: "-ERR Protocol error: expected CRLF\r\n", rest: 14, err: errNoEnd},
		{in: "*99999999999999999999\r\n", out: "-ERR Protocol error: too long\r\n", rest: 23, err: errTooMuch},
	} {
		used, out, err := newDatabase().serve([]byte(test.in), nil)
		if string(out) != test.out || used != len(test.in)-test.rest || err != test.err {
			t.Errorf("%q: %d bytes used, %q, %v", test.in, used, out, err)
		}
	}
}

// A command allocates nothing, except for a key that is new.
func TestAllocations(t *testing.T) {
	db, out := newDatabase(), make([]byte, 0, 1024)
	in := []byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nPING\r\n")
	if n := testing.AllocsPerRun(100, func() { db.serve(in, out) }); n != 0 {
		t.Errorf("three commands make %v allocations", n)
	}
}
