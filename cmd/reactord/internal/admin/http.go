package admin

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"
)

// The bounds on slow and idle clients.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	closeTimeout  = time.Second // for answers in flight when the server is closed
	maxHeader     = 16 << 10    // bytes
)

// server is an HTTP server on one listener.
type server struct {
	name     string // in the log
	http     http.Server
	listener net.Listener
	log      *zap.Logger
	ended    chan struct{} // closed when the server has ended; nil before serve
}

// serve begins to answer, and returns.
func (s *server) serve(h http.Handler) {
	s.http = http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          zap.NewStdLog(s.log),
	}
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		if err := s.http.Serve(newReserved(s.listener)); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error(s.name+": the server has ended", zap.Error(err))
		}
	}()
}

// Close ends the server. Answers in flight have a second to be finished.
func (s *server) Close() error {
	if s.ended == nil {
		return s.listener.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	<-s.ended
	return err
}
