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

// State is what /readyz answers.
type State int32

// A server is made Starting.
const (
	Starting State = iota // not yet ready: 503
	Ready                 // 200
	Draining              // no longer: 503
)

// String is the body of the answer.
func (s State) String() string { return [...]string{"starting", "ready", "draining"}[s] }

// Server answers on one address. Its methods may be called from any goroutine.
type Server struct {
	http     http.Server
	listener net.Listener
	state    atomic.Int32
	ended    chan struct{}
}

// A slow or idle client holds a connection no longer than this.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	closeTimeout  = time.Second // for answers that are on their way when the server is closed
	maxHeader     = 16 << 10    // bytes
)

// Listen starts a server at address, as net.Listen takes it, with the handler of /metrics.
func Listen(address string, metrics http.Handler, log *zap.Logger) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	errorLog, err := zap.NewStdLogAt(log, zap.DebugLevel)
	if err != nil {
		l.Close()
		return nil, err
	}
	s := &Server{listener: l, ended: make(chan struct{})}
	s.http = http.Server{
		Handler:           s.routes(metrics),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          errorLog,
	}
	go func() {
		defer close(s.ended)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics: the server has ended", zap.Error(err))
		}
	}()
	return s, nil
}

// Addr is the address it listens on.
func (s *Server) Addr() netip.AddrPort { return s.listener.Addr().(*net.TCPAddr).AddrPort() }

// Set says what /readyz answers from now on.
func (s *Server) Set(state State) { s.state.Store(int32(state)) }

// Close ends the server: answers that are on their way have a second to be finished.
func (s *Server) Close() error {
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
		state, code := State(s.state.Load()), http.StatusServiceUnavailable
		if state == Ready {
			code = http.StatusOK
		}
		answer(w, code, state.String())
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, page)
	})
	return mux
}

func answer(w http.ResponseWriter, code int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	io.WriteString(w, text+"\n")
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
<dt><a href="/readyz">/readyz</a><dd>whether new connections are welcome
<dt><a href="/livez">/livez</a><dd>whether the process answers at all
</dl>
</html>
`
