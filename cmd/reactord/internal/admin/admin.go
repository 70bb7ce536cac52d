package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// Server answers on one address. Its methods may be called from any goroutine, but only one at a time.
type Server struct {
	http     http.Server
	listener net.Listener
	log      *zap.Logger
	draining atomic.Bool
	ended    chan struct{} // closed when the server has ended; nil before Serve
}

// The bounds on slow and idle clients.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	closeTimeout  = time.Second // for answers in flight when the server is closed
	maxHeader     = 16 << 10    // bytes
)

// Listen takes the address, in the form of [net.Listen], so that its errors are known early. Clients wait until
// [Server.Serve] is called.
func Listen(address string, log *zap.Logger) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return &Server{listener: l, log: log}, nil
}

// Serve begins to answer, and returns. metrics is the handler of /metrics.
func (s *Server) Serve(metrics http.Handler) {
	s.http = http.Server{
		Handler:           s.routes(metrics),
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
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("metrics: the server has ended", zap.Error(err))
		}
	}()
}

// Addr is the address that s listens on.
func (s *Server) Addr() netip.AddrPort { return s.listener.Addr().(*net.TCPAddr).AddrPort() }

// Drain makes /readyz answer that no new connections are accepted.
func (s *Server) Drain() { s.draining.Store(true) }

// Close ends the server. Answers in flight have a second to be finished.
func (s *Server) Close() error {
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

func (s *Server) routes(metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s.draining.Load() {
			answer(w, http.StatusServiceUnavailable, "draining")
			return
		}
		answer(w, http.StatusOK, "ready")
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, page) // an error means that the client has gone
	})
	return mux
}

func answer(w http.ResponseWriter, code int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text+"\n") // an error means that the client has gone
}

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>reactord</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;margin:2rem}dt{font-weight:600}</style>
<h1>reactord</h1>
<dl>
<dt><a href="/metrics">/metrics</a><dd>counters and gauges for Prometheus
<dt><a href="/readyz">/readyz</a><dd>whether new connections are accepted
<dt><a href="/livez">/livez</a><dd>whether the process answers
</dl>
</html>
`
