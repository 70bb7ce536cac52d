package engine

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/reactord/reactord/bench/record"
)

// HTTP sends HTTP/1.1 requests over persistent connections, with Pipeline outstanding requests on each. A reply whose
// status is not 2xx or 3xx is an error. After a reply that ends the connection, the connection is opened again.
type HTTP struct {
	Path     string   `yaml:"path" default:"/" help:"Path of the requests."`
	Method   string   `yaml:"method" default:"GET" help:"Method of the requests, such as GET, HEAD or POST."`
	Header   []string `yaml:"header" sep:"none" placeholder:"NAME: VALUE" help:"An additional header. Can be repeated."`
	Body     int      `yaml:"body" default:"0" placeholder:"BYTES" help:"Bytes of the request's body."`
	Pipeline int      `yaml:"pipeline" default:"1" help:"Outstanding requests on each connection."`

	text []byte
}

func (m *HTTP) prepare(cfg *Config) error {
	if m.Path == "" {
		m.Path = "/"
	}
	if m.Method == "" {
		m.Method = "GET"
	}
	if m.Body < 0 || m.Body > MaxMessage {
		return fmt.Errorf("a body of %d bytes", m.Body)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", m.Method, m.Path, cfg.Target.Host)
	for _, h := range m.Header {
		if !strings.Contains(h, ":") || strings.ContainsAny(h, "\r\n") {
			return fmt.Errorf("the header %q does not have the form NAME: VALUE", h)
		}
		fmt.Fprintf(&b, "%s\r\n", h)
	}
	if m.Body > 0 {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", m.Body)
	}
	b.WriteString("\r\n")
	b.Write(bytes.Repeat([]byte("x"), m.Body))
	m.text = b.Bytes()
	if err := cfg.needStream(); err != nil {
		return err
	}
	return checkDepth(&m.Pipeline)
}

func (m *HTTP) persistent() bool { return true }
func (m *HTTP) maxPiece() int    { return 1 }

func (m *HTTP) session(c *conn) session {
	return newExchange(c, &httpCodec{text: m.text, head: m.Method == "HEAD"}, m.Pipeline)
}

// httpCodec parses replies. See RFC 9112.
type httpCodec struct {
	text    []byte // of the request
	head    bool   // replies have no body
	state   httpState
	line    []byte // the received part of a line
	status  int
	length  int64 // bytes of the body or chunk that are missing; -1: unknown
	chunked bool
	closes  bool // the connection ends with this reply
}

// httpState is what is parsed next.
type httpState uint8

const (
	httpStatus httpState = iota
	httpHeader
	httpBody
	httpChunkSize
	httpChunk
	httpChunkEnd
	httpTrailer
)

// maxLine bounds the length of a header line.
const maxLine = 64 << 10

func (h *httpCodec) request() []byte { return h.text }
func (h *httpCodec) last() bool      { return h.closes }

func (h *httpCodec) reset() { h.state, h.line, h.closes = httpStatus, h.line[:0], false }

func (h *httpCodec) reply(p []byte) (n int, done bool, err error) {
	for n < len(p) {
		if h.state == httpBody || h.state == httpChunk {
			k := int(min(h.length, int64(len(p)-n)))
			n += k
			if h.length -= int64(k); h.length > 0 {
				return n, false, nil
			}
			if h.state == httpBody {
				return n, true, h.finish()
			}
			h.state = httpChunkEnd
			continue
		}
		line, k := h.cut(p[n:])
		n += k
		if line == nil {
			if len(h.line) > maxLine {
				return n, false, failure(record.Protocol)
			}
			return n, false, nil
		}
		done, err = h.take(line)
		h.line = h.line[:0]
		if done || err != nil {
			return n, done, err
		}
	}
	return n, false, nil
}

// cut removes a line from p and returns it without its end. It returns nil if the line is not complete.
func (h *httpCodec) cut(p []byte) (line []byte, n int) {
	i := bytes.IndexByte(p, '\n')
	if i < 0 {
		h.line = append(h.line, p...)
		return nil, len(p)
	}
	line = p[:i]
	if len(h.line) > 0 {
		h.line = append(h.line, line...)
		line = h.line
	}
	return bytes.TrimSuffix(line, []byte("\r")), i + 1
}

// take parses a line.
func (h *httpCodec) take(line []byte) (done bool, err error) {
	switch h.state {
	case httpStatus:
		if len(line) < 12 || string(line[:5]) != "HTTP/" || line[8] != ' ' {
			return false, failure(record.Protocol)
		}
		h.status = int(line[9]-'0')*100 + int(line[10]-'0')*10 + int(line[11]-'0')
		h.state, h.length, h.chunked, h.closes = httpHeader, -1, false, string(line[5:8]) == "1.0"
	case httpHeader:
		if len(line) == 0 {
			return h.headed()
		}
		return false, h.header(line)
	case httpChunkSize:
		size, _, _ := bytes.Cut(line, []byte(";"))
		h.length, err = strconv.ParseInt(string(bytes.TrimSpace(size)), 16, 63)
		if err != nil || h.length < 0 {
			return false, failure(record.Protocol)
		}
		if h.state = httpChunk; h.length == 0 {
			h.state = httpTrailer
		}
	case httpChunkEnd:
		if len(line) != 0 {
			return false, failure(record.Protocol)
		}
		h.state = httpChunkSize
	case httpTrailer:
		if len(line) == 0 {
			return true, h.finish()
		}
	}
	return false, nil
}

// header parses the headers that say where the reply ends, and whether the connection ends.
func (h *httpCodec) header(line []byte) error {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return failure(record.Protocol)
	}
	value = bytes.TrimSpace(value)
	switch {
	case bytes.EqualFold(name, []byte("content-length")):
		n, err := strconv.ParseInt(string(value), 10, 63)
		if err != nil || n < 0 {
			return failure(record.Protocol)
		}
		h.length = n
	case bytes.EqualFold(name, []byte("transfer-encoding")):
		h.chunked = bytes.EqualFold(value, []byte("chunked"))
	case bytes.EqualFold(name, []byte("connection")):
		h.closes = bytes.EqualFold(value, []byte("close"))
	}
	return nil
}

// headed decides after the last header what follows it.
func (h *httpCodec) headed() (done bool, err error) {
	switch {
	case h.status/100 == 1: // another header follows
		h.state = httpStatus
	case h.head || h.status == 204 || h.status == 304 || h.length == 0 && !h.chunked:
		return true, h.finish()
	case h.chunked:
		h.state = httpChunkSize
	case h.length > 0:
		h.state = httpBody
	default: // only EOF would end the body
		return false, failure(record.Protocol)
	}
	return false, nil
}

func (h *httpCodec) finish() error {
	h.state = httpStatus
	if h.status/100 != 2 && h.status/100 != 3 {
		return failure(record.Status)
	}
	return nil
}
