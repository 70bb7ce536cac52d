package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"

	"github.com/reactord/reactord/sender/task"
)

const (
	// maxHeader is how many bytes a request's header has: http.ReadRequest has no bound.
	maxHeader = 64 << 10
	// maxBody is how many bytes of a request's body are read if the handler has not: beyond that the connection is closed.
	maxBody = 256 << 10
)

// serve answers the requests of one connection. Responses to pipelined requests are sent together.
func serve(_ *task.T, c net.Conn) error {
	bounded := &io.LimitedReader{R: c}
	in, out := bufio.NewReader(bounded), bufio.NewWriter(c)
	for {
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
		bounded.N = maxHeader // then it ends as if the client had closed
		req, err := http.ReadRequest(in)
		if err != nil {
			return refuse(out, err)
		}
		bounded.N = math.MaxInt64 // of the body
		if err := respond(in, out, req); err != nil || req.Close {
			return errors.Join(err, out.Flush())
		}
	}
}

// refuse ends a connection on which no further request can be read.
func refuse(out *bufio.Writer, err error) error {
	var network net.Error
	if errors.Is(err, io.EOF) || errors.As(err, &network) {
		return out.Flush()
	}
	fmt.Fprint(out, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	return out.Flush()
}

// respond answers one request.
func respond(in *bufio.Reader, out *bufio.Writer, req *http.Request) error {
	if strings.EqualFold(req.Header.Get("Expect"), "100-continue") {
		fmt.Fprint(out, "HTTP/1.1 100 Continue\r\n\r\n")
		if err := out.Flush(); err != nil {
			return err
		}
	}
	resp := handle(req)
	resp.ProtoMajor, resp.ProtoMinor, resp.Request = 1, 1, req
	if err := resp.Write(out); err != nil {
		return err
	}
	// What the handler has not read is in front of the next request.
	n, err := io.Copy(io.Discard, io.LimitReader(req.Body, maxBody))
	if err == nil && n == maxBody {
		req.Close = true
	}
	return err
}

// handle implements the application.
func handle(req *http.Request) *http.Response {
	switch {
	case req.URL.Path == "/":
		return text(http.StatusOK, "hello\n")
	case req.URL.Path == "/count":
		return stream(&counter{left: 1000})
	case req.URL.Path == "/echo" && req.Method == http.MethodPost:
		return &http.Response{
			StatusCode: http.StatusOK, ContentLength: req.ContentLength, TransferEncoding: req.TransferEncoding,
			Body: io.NopCloser(req.Body), // which is read further when the response has been written
		}
	default:
		return text(http.StatusNotFound, "not found\n")
	}
}

func text(status int, s string) *http.Response {
	header := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	return &http.Response{
		StatusCode: status, Header: header, ContentLength: int64(len(s)), Body: io.NopCloser(strings.NewReader(s)),
	}
}

// stream returns a response whose length is not known.
func stream(r io.Reader) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, ContentLength: -1, TransferEncoding: []string{"chunked"}, Body: io.NopCloser(r),
	}
}

// counter is a text that is made while it is read: the numbers down to 1.
type counter struct{ left int }

func (c *counter) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	n := copy(p, fmt.Sprintf("%d\n", c.left))
	c.left--
	return n, nil
}
