package resp

import (
	"bytes"
	"errors"
)

// The limits of a command.
const (
	maxWords  = 64
	maxWord   = 1 << 20 // bytes
	maxInline = 64 << 10
	maxNumber = 10 // bytes of a line that has a number, without its end
)

// ErrProtocol is the error of bytes that are not RESP.
var ErrProtocol = errors.New("resp: protocol error")

// parse appends the words of the first command to words, as parts of p, and returns the bytes of the command. 0: it is
// not complete.
func parse(p []byte, words [][]byte) (_ [][]byte, n int, err error) {
	if len(p) == 0 {
		return words, 0, nil
	}
	if p[0] != '*' {
		return inline(p, words)
	}
	count, n, err := number(p, '*', maxWords)
	for range count {
		if n == 0 || err != nil {
			return words, 0, err
		}
		size, k, err := number(p[n:], '$', maxWord)
		if k == 0 || err != nil {
			return words, 0, err
		}
		begin := n + k
		end := begin + size
		if len(p) < end+2 {
			return words, 0, nil
		}
		if p[end] != '\r' || p[end+1] != '\n' {
			return words, 0, ErrProtocol
		}
		words = append(words, p[begin:end])
		n = end + 2
	}
	return words, n, err
}

// number parses a line that has a mark and a number, and returns the bytes of the line. 0: it is not complete.
func number(p []byte, mark byte, most int) (value, n int, err error) {
	if len(p) == 0 {
		return 0, 0, nil
	}
	if p[0] != mark {
		return 0, 0, ErrProtocol
	}
	for i, c := range p[1:] {
		switch {
		case c >= '0' && c <= '9' && value <= most:
			value = 10*value + int(c-'0')
		case c == '\r' && i > 0 && value <= most:
			if len(p) < i+3 {
				return 0, 0, nil
			}
			if p[i+2] != '\n' {
				return 0, 0, ErrProtocol
			}
			return value, i + 3, nil
		default:
			return 0, 0, ErrProtocol
		}
		if i > maxNumber {
			return 0, 0, ErrProtocol
		}
	}
	return 0, 0, nil
}

// inline parses a command that is a line of words.
func inline(p []byte, words [][]byte) (_ [][]byte, n int, err error) {
	i := bytes.IndexByte(p, '\n')
	if i < 0 {
		if len(p) > maxInline {
			return words, 0, ErrProtocol
		}
		return words, 0, nil
	}
	return append(words, bytes.Fields(p[:i])...), i + 1, nil
}
