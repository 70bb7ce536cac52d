package admin

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"github.com/reactord/reactord/cmd/reactord/internal/connlimit"
	"go.uber.org/zap"
)

// The bounds on slow and idle clients.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	retryTime     = time.Second // between two looks at a file that is wrong
	closeTimeout  = time.Second // for answers in flight when the server is closed
	maxHeader     = 16 << 10    // bytes
)

// server is an HTTP server on one listener.
type server struct {
	name     string // in the log
	http     http.Server
	listener net.Listener
	web      string // the path of its web configuration file; "": it has none
	log      *zap.Logger
	limit    *connlimit.Limit
	waiting  unanswered
	stop     context.CancelFunc // ends run; nil before serve
	ended    chan struct{}      // closed when run has ended; nil before serve
	closing  sync.Once
}

// newServer returns a server with a bound on its connections.
func newServer(name string, l net.Listener, web string, most int, log *zap.Logger) server {
	return server{name: name, listener: l, web: web, limit: connlimit.New(most), log: log}
}

// serve begins to answer, and returns. Over TLS it speaks HTTP/1.1, too: the bounds are on connections.
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
		ConnContext:       s.limit.ConnContext,
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	s.ended = make(chan struct{})
	go s.run(ctx, h, wrong)
}

// run answers until s is closed. If the web configuration file is wrong by now, clients wait until it is right.
func (s *server) run(ctx context.Context, h http.Handler, wrong *complaints) {
	defer close(s.ended)
	l := s.limit.Listener(newReserved(s.listener))
	defer l.Close()
	said := ""
	probes := newProbes(s.web, h)
	s.http.BaseContext = func(net.Listener) context.Context { // Serve has put its own handler before h
		if s.web != "" {
			probes.limited, s.http.Handler = s.http.Handler, probes
		}
		return context.Background()
	}
	for {
		s.http.Handler = h
		if s.web != "" {
			s.http.Handler = probes.note(h)
		}
		err := web.Serve(l, &s.http, &web.FlagConfig{WebConfigFile: &s.web}, newSlog(wrong))
		if ctx.Err() != nil {
			return
		}
		if text := err.Error(); text != said {
			said = text
			s.log.Error(s.name+": the server does not answer", zap.Error(err))
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

// Close ends the server. Requests on connections that it has accepted have a second to arrive and to be answered.
func (s *server) Close() error {
	if s.ended == nil {
		return s.listener.Close()
	}
	var err error
	s.closing.Do(func() { err = s.finish() })
	return err
}

// finish ends the server in steps, because Shutdown drops a request that arrives while it waits.
func (s *server) finish() error {
	s.stop()
	err := s.listener.Close()
	<-s.ended // no connection is accepted any more
	s.http.SetKeepAlivesEnabled(false)
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	select {
	case <-s.waiting.wait():
	case <-ctx.Done():
	}
	return errors.Join(err, s.http.Close())
}
