package server

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
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
	defer context.AfterFunc(ctx, func() { s.Close() })()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
