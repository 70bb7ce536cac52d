package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"
)

// hello is the body of each answer of http.
const hello = "Hello, World!"

// serveHTTP serves with net/http until ctx ends.
func serveHTTP(ctx context.Context, l net.Listener) error {
	s := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, hello) // the client sees the error
		})}
	defer closeWith(ctx, s)() // with its connections
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// answerRequests answers the requests of a connection, with the headers that net/http has. Only the parser is
// net/http's. Answers to requests that came together are sent together.
func answerRequests(conn net.Conn) error {
	in, answers := bufio.NewReader(conn), []byte(nil)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return err
		}
		answers = append(answers, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: "...)
		answers = time.Now().UTC().AppendFormat(answers, http.TimeFormat)
		answers = append(answers, "\r\nContent-Length: "...)
		answers = strconv.AppendInt(answers, int64(len(hello)), 10)
		if r.Close {
			answers = append(answers, "\r\nConnection: close"...)
		}
		answers = append(answers, "\r\n\r\n"+hello...)
		if in.Buffered() > 0 && !r.Close {
			continue
		}
		if _, err := conn.Write(answers); err != nil || r.Close {
			return err
		}
		answers = answers[:0]
	}
}
