package admin

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"

	"go.uber.org/zap"
)

// Server serves monitoring of the daemon on one address. Its methods may be called from any goroutine, but one at a
// time.
type Server struct {
	server
	unready atomic.Pointer[string] // the reason; nil if ready
	check   atomic.Pointer[func() string]
}

// Listen binds the address, in the form of [net.Listen], so that errors show early. Clients wait until [Server.Serve]
// is called. webFile is the path of a web configuration file validated by [CheckWeb], or "".
func Listen(address, webFile string, log *zap.Logger) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return TakeOver(l, webFile, log), nil
}

// Serve starts answering, and returns. metrics handles /metrics.
func (s *Server) Serve(metrics http.Handler) { s.serve(s.routes(metrics)) }

// Addr returns the address that s listens on.
func (s *Server) Addr() netip.AddrPort { return s.listener.Addr().(*net.TCPAddr).AddrPort() }

// SetReady makes /readyz report that new connections are welcome, as it does at first.
func (s *Server) SetReady() { s.unready.Store(nil) }

// SetUnready makes /readyz report that they are not, and why.
func (s *Server) SetUnready(why string) { s.unready.Store(&why) }

// CheckReady makes /readyz call check for the reason why new connections are not accepted, or "". It is called from
// any goroutine.
func (s *Server) CheckReady(check func() string) { s.check.Store(&check) }

// whyUnready returns why new connections are not welcome, or "".
func (s *Server) whyUnready() string {
	if why := s.unready.Load(); why != nil {
		return *why
	}
	if check := s.check.Load(); check != nil {
		return (*check)()
	}
	return ""
}

func (s *Server) routes(metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := s.whyUnready(); why != "" {
			answer(w, http.StatusServiceUnavailable, why)
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
