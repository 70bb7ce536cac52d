package main

import (
	"bytes"
	"errors"
)

// Limits of a command. What is longer is an error of the protocol.
const (
	maxArguments = 1024
	maxArgument  = 1 << 20 // bytes
	maxInline    = 1 << 10 // bytes
)

var (
	errNumber   = errors.New("expected a number")
	errTooMuch  = errors.New("too long")
	errNoDollar = errors.New("expected '$'")
	errNoEnd    = errors.New("expected CRLF")
)

// parser takes commands from bytes that a client has sent. Its memory for the list of arguments is used again.
//
// Source: https://redis.io/docs/latest/develop/reference/protocol-spec/, arrays of bulk strings and inline commands.
type parser struct{ args [][]byte }

// next returns the arguments of the first command of in, which are parts of in, and its length. A length of 0 says that
// the command is not complete. There are no arguments if the client has sent an empty line or an empty array.
func (p *parser) next(in []byte) (args [][]byte, n int, err error) {
	p.args = p.args[:0]
	if len(in) == 0 {
		return nil, 0, nil
	}
	if in[0] != '*' {
		return p.inline(in)
	}
	count, at, err := header(in, 0, maxArguments)
	if err != nil || at == 0 {
		return nil, 0, err
	}
	for range count {
		size, begin, err := bulk(in, at)
		if err != nil || begin == 0 || len(in) < begin+size+2 {
			return nil, 0, err
		}
		if in[begin+size] != '\r' || in[begin+size+1] != '\n' {
			return nil, 0, errNoEnd
		}
		p.args = append(p.args, in[begin:begin+size])
		at = begin + size + 2
	}
	return p.args, at, nil
}

// bulk reads the header of a bulk string, which begins at in[at].
func bulk(in []byte, at int) (size, begin int, err error) {
	if at < len(in) && in[at] != '$' {
		return 0, 0, errNoDollar
	}
	return header(in, at, maxArgument)
}

// header reads the number of a line such as "*3\r\n" or "$5\r\n", which begins at in[at]. next is where the line ends;
// 0 if it is not complete.
func header(in []byte, at, most int) (number, next int, err error) {
	for i := at + 1; i < len(in); i++ {
		c := in[i]
		switch {
		case '0' <= c && c <= '9':
			if number = number*10 + int(c-'0'); number > most {
				return 0, 0, errTooMuch
			}
		case c != '\r' || i == at+1:
			return 0, 0, errNumber
		case i+1 == len(in):
			return 0, 0, nil
		case in[i+1] != '\n':
			return 0, 0, errNoEnd
		default:
			return number, i + 2, nil
		}
	}
	return 0, 0, nil
}

// inline takes a command that is a line of words, as people type it.
func (p *parser) inline(in []byte) (args [][]byte, n int, err error) {
	end := bytes.IndexByte(in[:min(len(in), maxInline)], '\n')
	switch {
	case end >= 0:
		p.args = append(p.args, bytes.Fields(in[:end])...)
		return p.args, end + 1, nil
	case len(in) >= maxInline:
		return nil, 0, errTooMuch
	default:
		return nil, 0, nil
	}
}
