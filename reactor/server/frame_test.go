//go:build linux

package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/reactord/reactord/reactor/server"
)

func TestLengthField(t *testing.T) {
	for _, c := range []struct {
		f     server.LengthField
		in    string
		frame string
		size  int
		err   error
	}{
		{server.LengthField{}, "\x00\x00\x00\x02abc", "\x00\x00\x00\x02ab", 6, nil},
		{server.LengthField{Strip: 4}, "\x00\x00\x00\x02abc", "ab", 6, nil},
		{server.LengthField{Width: 2, LittleEndian: true, Strip: 2}, "\x03\x00abc", "abc", 5, nil},
		{server.LengthField{Width: 1, Offset: 1, Strip: 2}, "T\x01a", "a", 3, nil},
		{server.LengthField{Width: 2, Adjust: -2, Strip: 2}, "\x00\x03a", "a", 3, nil}, // counts itself
		{server.LengthField{Width: 3, Adjust: 6, Strip: 9}, "\x00\x00\x01xxxxxxa", "a", 10, nil},
		{server.LengthField{Width: 3}, "\x00\x00", "", 0, nil},
		{server.LengthField{Width: 1}, "\x09abc", "", 10, nil},
		{server.LengthField{Width: 2, Adjust: -2}, "\x00\x01", "", 0, server.ErrLength},
		{server.LengthField{Width: 1, Max: 3}, "\x03", "", 0, server.ErrTooLong},
		{server.LengthField{Width: 1, Max: 4}, "\x03abc", "\x03abc", 4, nil},
		{server.LengthField{Width: 8}, "\xff\xff\xff\xff\xff\xff\xff\xff", "", 0, server.ErrTooLong},
		{server.LengthField{Width: 8, Adjust: -1 << 29}, "\x7f\xff\xff\xff\xff\xff\xff\xff", "", 0, server.ErrTooLong},
	} {
		frame, size, err := c.f.Next([]byte(c.in), 0)
		if string(frame) != c.frame || size != c.size || !errors.Is(err, c.err) {
			t.Errorf("%+v of %q: %q, %d, %v", c.f, c.in, frame, size, err)
		}
	}
}

func TestLinesAndDelimiters(t *testing.T) {
	for _, c := range []struct {
		f     server.Framing
		in    string
		frame string
		size  int
		err   error
	}{
		{server.Lines{}, "a\r\nb", "a", 3, nil},
		{server.Lines{}, "a\nb", "a", 2, nil},
		{server.Lines{}, "\n", "", 1, nil},
		{server.Lines{}, "a", "", 0, nil},
		{server.Lines{Max: 2}, "ab\n", "ab", 3, nil},
		{server.Lines{Max: 2}, "ab", "", 0, nil},
		{server.Lines{Max: 2}, "abc", "", 0, server.ErrTooLong},
		{server.Lines{Max: 2}, "abc\n", "", 0, server.ErrTooLong},
		{server.Delimiter{Bytes: []byte("--")}, "a-b--c", "a-b", 5, nil},
		{server.Delimiter{Bytes: []byte("--"), Max: 1}, "a-", "", 0, nil},
		{server.Delimiter{Bytes: []byte("--"), Max: 1}, "a-b", "", 0, server.ErrTooLong},
	} {
		frame, size, err := c.f.Next([]byte(c.in), 0)
		if string(frame) != c.frame || size != c.size || !errors.Is(err, c.err) {
			t.Errorf("%+v of %q: %q, %d, %v", c.f, c.in, frame, size, err)
		}
	}
}

// frames is what a framing makes of a stream that arrives in two parts, as a connection presents them.
func frames(f server.Framing, in []byte, split int) (all []string, end string) {
	rest, seen := []byte(nil), 0
	for _, part := range [][]byte{in[:split], in[split:]} {
		rest = append(rest, part...)
		for {
			frame, size, err := f.Next(rest, seen)
			if err != nil {
				return all, err.Error()
			}
			if size == 0 || size > len(rest) {
				seen = len(rest)
				break
			}
			all = append(all, string(frame))
			rest, seen = rest[size:], max(seen-size, 0)
		}
	}
	return all, fmt.Sprintf("%q is left", rest)
}

// compare asserts that it does not matter where the stream is split.
func compare(t *testing.T, f server.Framing, in []byte) {
	want, end := frames(f, in, len(in))
	for split := range len(in) {
		if got, e := frames(f, in, split); e != end || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%+v: split at %d of %q: %q, %s instead of %q, %s", f, split, in, got, e, want, end)
		}
	}
}

func FuzzLengthField(f *testing.F) {
	f.Add([]byte("\x00\x02ab\x00\x01c"), 0, 2, 0, 0, false, 10)
	f.Fuzz(func(t *testing.T, in []byte, offset, width, adjust, strip int, little bool, most int) {
		if offset < 0 || strip < 0 || most < 0 || max(strip, most, adjust, -adjust) >= 1<<30 || adjust < -1<<30 || width != 8 && (width < 1 || width > 4) || len(in) > 1<<7 {
			return
		}
		compare(t, server.LengthField{Offset: offset % 64, Width: width, Adjust: adjust, Strip: strip,
			LittleEndian: little, Max: most}, in)
	})
}

func FuzzDelimiter(f *testing.F) {
	f.Add([]byte("a--b-c--"), []byte("--"), 10)
	f.Fuzz(func(t *testing.T, in, delimiter []byte, most int) {
		if len(delimiter) == 0 || most < 0 || len(in) > 1<<7 {
			return
		}
		compare(t, server.Delimiter{Bytes: delimiter, Max: most}, in)
		compare(t, server.Lines{Max: most}, in)
		if most == 0 || most > len(in) { // then it is bytes.Split
			got, _ := frames(server.Delimiter{Bytes: delimiter}, in, len(in))
			want := bytes.Split(in, delimiter)
			if len(got) != len(want)-1 {
				t.Errorf("%d frames instead of %d", len(got), len(want)-1)
			}
		}
	})
}
