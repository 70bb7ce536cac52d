package resp

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// command encodes a command.
func command(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.String()
}

func TestCommands(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{command("PING"), "+PONG\r\n"},
		{command("ping", "a\r\nb"), "$4\r\na\r\nb\r\n"},
		{command("ECHO", ""), "$0\r\n\r\n"},
		{command("GET", "none"), "$-1\r\n"},
		{command("SET", "k", "one") + command("get", "k"), "+OK\r\n$3\r\none\r\n"},
		{command("SET", "k", "two") + command("SET", "k", "3") + command("GET", "k"), "+OK\r\n+OK\r\n$1\r\n3\r\n"},
		{command("SET", "k", "v") + command("DEL", "k") + command("DEL", "k"), "+OK\r\n:1\r\n:0\r\n"},
		{command("COMMAND", "DOCS"), "*0\r\n"},
		{command("SET", "k"), "-ERR unknown command or wrong number of arguments\r\n"},
		{"PING\r\n\r\nPING hello\n", "+PONG\r\n$5\r\nhello\r\n"},
		{"*0\r\n" + command("PING"), "+PONG\r\n"},
	} {
		s := &Store{}
		used, got, err := s.Answer([]byte(test.in), nil)
		if used != len(test.in) || string(got) != test.want || err != nil {
			t.Errorf("%q: %d bytes of %d, %q, %v", test.in, used, len(test.in), got, err)
		}
	}
}

// Commands may come in any pieces.
func TestPieces(t *testing.T) {
	in := command("SET", "key", strings.Repeat("v\r\n", 20)) + "PING\r\n" + command("GET", "key") + command("PING")
	_, want, _ := (&Store{}).Answer([]byte(in), nil)
	for size := 1; size <= len(in); size++ {
		s := &Store{}
		var rest, out []byte
		for at := 0; at < len(in); at += size {
			rest = append(rest, in[at:min(at+size, len(in))]...)
			used, more, err := s.Answer(rest, out)
			if err != nil {
				t.Fatal(err)
			}
			rest, out = rest[used:], more
		}
		if len(rest) > 0 || !bytes.Equal(out, want) {
			t.Fatalf("in pieces of %d bytes: %q, and %d bytes are left", size, out, len(rest))
		}
	}
}

func TestProtocolErrors(t *testing.T) {
	for _, in := range []string{
		"*x\r\n", "*1\n", "*1\rx", "*65\r\n", "*99999999999999999999\r\n", "*1\r\n+", "*1\r\n$\r\n", "*1\r\n$1048577\r\n",
		"*1\r\n$-1\r\n", "*1\r\n$1\r\nabc", "*-1\r\n", "*\r\n", "*0000000000001\r\n", strings.Repeat("x", maxInline+1),
	} {
		used, out, err := (&Store{}).Answer([]byte(command("PING")+in), nil)
		if want := "+PONG\r\n-ERR Protocol error\r\n"; !errors.Is(err, ErrProtocol) || string(out) != want ||
			used != len(command("PING")) {
			t.Errorf("%.30q: %d bytes, %q, %v", in, used, out, err)
		}
	}
}

// A value that is in use is not changed by a later command.
func TestValuesAreCopies(t *testing.T) {
	s := &Store{}
	in := []byte(command("SET", "k", "good"))
	_, _, _ = s.Answer(in, nil)
	copy(in, bytes.Repeat([]byte("x"), len(in)))
	_, out, _ := s.Answer([]byte(command("GET", "k")+command("SET", "k", "evil")), nil)
	if string(out) != "$4\r\ngood\r\n+OK\r\n" {
		t.Errorf("%q", out)
	}
}

func TestNoAllocations(t *testing.T) {
	s := &Store{}
	in := []byte(strings.Repeat(command("SET", "key", "value")+command("GET", "key"), 8))
	_, out, _ := s.Answer(in, nil)
	if n := testing.AllocsPerRun(100, func() { _, out, _ = s.Answer(in, out[:0]) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte(command("SET", "a", "b")+command("GET", "a")), 3)
	f.Add([]byte("PING\r\n*1\r\n$4"), 1)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		used, want, failed := (&Store{}).Answer(in, nil)
		if used > len(in) {
			t.Fatalf("%d bytes of %d", used, len(in))
		}
		s, cut := &Store{}, min(max(cut, 0), len(in))
		used, got, err := s.Answer(in[:cut], nil)
		if err == nil {
			_, got, err = s.Answer(in[used:], got)
		}
		if !bytes.Equal(got, want) || (err == nil) != (failed == nil) {
			t.Errorf("in two pieces %q, %v, and together %q, %v", got, err, want, failed)
		}
	})
}
