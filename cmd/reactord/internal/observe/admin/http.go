package admin

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"github.com/reactord/reactord/cmd/reactord/internal/host/connlimit"
	"go.uber.org/zap"
)

// Limits for slow and idle clients.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	retryTime     = time.Second // between two checks of an invalid file
	closeTimeout  = time.Second // for answers in flight when the server closes
	maxHeader     = 16 << 10    // bytes
)

// server is an HTTP server on one listener.
type server struct {
	name     string // in the log
	http     http.Server
	listener net.Listener
	web      string // path of its web configuration file, or ""
	log      *zap.Logger
	limit    *connlimit.Limit
	waiting  unanswered
	stop     context.CancelFunc // ends run; nil before serve
	ended    chan struct{}      // closed when run has ended; nil before serve
	closing  sync.Once
}

// newServer returns a server with a limit on its connections.
func newServer(name string, l net.Listener, web string, most int, log *zap.Logger) server {
	return server{name: name, listener: l, web: web, limit: connlimit.New(most), log: log}
}

// serve starts answering, and returns. Over TLS it speaks HTTP/1.1 only, because the limits apply to connections.
func (s *server) serve(h http.Handler) {
	h = s.limit.Handler(h)
	wrong := &complaints{name: s.name, file: s.web, log: s.log}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	s.http = http.Server{
		Handler:           h,
		Protocols:         &protocols,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          newServerLog(wrong),
		ConnState:         s.waiting.note,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return withPeer(s.limit.ConnContext(ctx, c), c)
		},
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	s.ended = make(chan struct{})
	go s.run(ctx, h, wrong)
}

// run answers until s is closed. While the web configuration file is invalid, clients wait.
func (s *server) run(ctx context.Context, h http.Handler, wrong *complaints) {
	defer close(s.ended)
	l := s.limit.Listener(newReserved(s.listener))
	defer l.Close()
	said := ""
	probes := newProbes(s.web, h)
	s.http.BaseContext = func(net.Listener) context.Context { // Serve has wrapped h
		if s.web != "" {
			probes.limited, s.http.Handler = s.http.Handler, probes
		}
		return context.Background()
	}
	for {
		s.http.Handler = h
		if s.web != "" {
			s.http.Handler = probes.recordLogins(h)
		}
		err := web.Serve(l, &s.http, &web.FlagConfig{WebConfigFile: &s.web}, newSlog(wrong))
		if ctx.Err() != nil {
			return
		}
		if text := err.Error(); text != said {
			said = text
			s.log.Error(s.name+": server failed", zap.Error(err))
		}
		if s.web == "" {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryTime):
		}
	}
}

// Close stops the server. Requests on accepted connections have a second to arrive and be answered.
func (s *server) Close() error {
	if s.ended == nil {
		return s.listener.Close()
	}
	var err error
	s.closing.Do(func() { err = s.finish() })
	return err
}

// finish stops the server in steps, because Shutdown drops a request that arrives while it waits.
func (s *server) finish() error {
	s.stop()
	err := s.listener.Close()
	<-s.ended // no more connections are accepted
	s.http.SetKeepAlivesEnabled(false)
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	select {
	case <-s.waiting.wait():
	case <-ctx.Done():
	}
	return errors.Join(err, s.http.Close())
}
