package dropin

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/host/connlimit"
	"github.com/reactord/reactord/cmd/reactord/internal/host/unixsocket"
	"go.uber.org/zap"
)

// Listener is an address where parts of the admin server are answered.
type Listener struct {
	Name             string
	Network, Address string // as in [net.Listen]
	// Paths are the pages of the admin server by the paths where they are; others are not found. nil: all of them.
	Paths map[string]string
}

// Listeners are addresses that come and go.
type Listeners struct {
	handler http.Handler
	log     *zap.Logger
	limit   *connlimit.Limit

	connections atomic.Int64

	mu     sync.Mutex
	wanted []Listener
	open   map[place]*server
	failed map[place]string // why
	again  *time.Timer      // nil: nothing has failed
	closed bool
	all    sync.WaitGroup
}

// place is an address.
type place struct{ network, address string }

// server serves on one address.
type server struct {
	http.Server
	listener net.Listener

	mu    sync.Mutex
	paths map[string]string // nil: all
}

// NewListeners returns listeners without addresses, which serve pages of admin, a [Handler].
func NewListeners(admin http.Handler, log *zap.Logger) *Listeners {
	limit := connlimit.New(maxClients)
	return &Listeners{
		handler: limit.Handler(admin), log: log, limit: limit, open: map[place]*server{}, failed: map[place]string{},
	}
}

// maxClients bounds the connections of all addresses.
const maxClients = 32

// retry is the time after which an address that could not be listened on is tried again.
const retry = time.Second

// Set replaces the listeners. Two with the same address are one with the paths of both. Connections of
// those that are gone end after their request. What cannot be listened on is logged, and tried again.
func (l *Listeners) Set(wanted []Listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.wanted = slices.Clone(wanted)
		l.apply()
	}
}

// apply opens and closes addresses until those that are open are the wanted ones. The caller holds mu.
func (l *Listeners) apply() {
	want := map[place]Listener{}
	for _, w := range l.wanted {
		key := place{w.Network, w.Address}
		if was, ok := want[key]; ok && was.Paths != nil && w.Paths != nil {
			w.Paths = maps.Clone(w.Paths)
			maps.Copy(w.Paths, was.Paths)
		}
		want[key] = w
	}
	for key, s := range l.open {
		if _, stays := want[key]; !stays {
			l.stop(s)
			delete(l.open, key)
			l.log.Info("stopped serving the Envoy admin endpoint", zap.String("address", key.address))
		}
	}
	maps.DeleteFunc(l.failed, func(key place, _ string) bool { _, stays := want[key]; return !stays })
	for key, w := range want {
		if s := l.open[key]; s != nil {
			s.mu.Lock()
			s.paths = w.Paths
			s.mu.Unlock()
			continue
		}
		if err := l.start(key, &w); err != nil {
			if l.failed[key] != err.Error() {
				l.log.Warn("cannot serve the Envoy admin endpoint: retrying", zap.String("listener", w.Name), zap.Error(err))
			}
			l.failed[key] = err.Error()
			continue
		}
		delete(l.failed, key)
	}
	if l.again != nil {
		l.again.Stop()
		l.again = nil
	}
	if len(l.failed) > 0 {
		l.again = time.AfterFunc(retry, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if !l.closed {
				l.apply()
			}
		})
	}
}

// start listens. It is called with the lock.
func (l *Listeners) start(key place, w *Listener) error {
	listener, err := listen(key)
	if err != nil {
		return err
	}
	s := &server{listener: listener, paths: w.Paths}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(l.handler, w, r) })
	s.ReadHeaderTimeout, s.ReadTimeout, s.WriteTimeout = 5*time.Second, 10*time.Second, 30*time.Second
	s.IdleTimeout = time.Minute
	s.MaxHeaderBytes, s.ConnContext = 64<<10, l.limit.ConnContext
	s.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			l.connections.Add(1)
		case http.StateClosed, http.StateHijacked:
			l.connections.Add(-1)
		}
	}
	s.ErrorLog = log.New(quiet{}, "", 0)
	l.open[key] = s
	l.all.Go(func() { _ = s.Serve(l.limit.Listener(listener)) }) // it ends by Shutdown
	l.log.Info("serving the Envoy admin endpoint",
		zap.String("listener", w.Name), zap.Stringer("address", s.listener.Addr()))
	return nil
}

// backlog limits the connections that wait to be accepted.
const backlog = 128

// listen opens an address. It replaces the file of a unix socket whose process is gone.
func listen(at place) (net.Listener, error) {
	if at.network != "unix" {
		network := at.network
		if to, err := netip.ParseAddrPort(at.address); err == nil && to.Addr().Is4() {
			network = "tcp4" // else 0.0.0.0 would be every address of IPv6, too
		}
		return net.Listen(network, at.address)
	}
	fd, file, err := unixsocket.Listen(at.address, unixsocket.Access{Mode: 0o660, UID: -1, GID: -1}, backlog)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at.address, err)
	}
	f := os.NewFile(uintptr(fd), at.address)
	defer f.Close() // the listener has a copy
	l, err := net.FileListener(f)
	if err != nil {
		_ = file.Remove()
		return nil, err
	}
	return &unixListener{l, file}, nil
}

// unixListener removes its file when it is closed.
type unixListener struct {
	net.Listener
	file *unixsocket.File // nil: it has an abstract name
}

// Close closes it.
func (l *unixListener) Close() error {
	err := l.Listener.Close()
	if l.file != nil {
		_ = l.file.Remove()
	}
	return err
}

// quiet drops what clients have done wrong.
type quiet struct{}

func (quiet) Write(p []byte) (int, error) { return len(p), nil }

// serve answers a request to one of the server's paths.
func (s *server) serve(admin http.Handler, w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	paths := s.paths
	s.mu.Unlock()
	if paths == nil {
		admin.ServeHTTP(w, r)
		return
	}
	to, ok := paths[r.URL.Path]
	if !ok {
		text(w, http.StatusNotFound, "Not Found\n")
		return
	}
	r = r.Clone(r.Context())
	r.URL.Path = to
	admin.ServeHTTP(w, r)
}

// grace bounds how long requests may take when an address is closed.
const grace = time.Second

// stop ends a server: its address is free when it returns. It does not wait for requests.
func (l *Listeners) stop(s *server) {
	_ = s.listener.Close()
	l.all.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		if s.Shutdown(ctx) != nil {
			_ = s.Close()
		}
	})
}

// Addr returns the address of a listener, or nil if it is not open.
func (l *Listeners) Addr(name string) net.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.wanted {
		if s := l.open[place{w.Network, w.Address}]; s != nil && w.Name == name {
			return s.listener.Addr()
		}
	}
	return nil
}

// Connections returns how many connections are open.
func (l *Listeners) Connections() int { return int(l.connections.Load()) }

// Addrs returns the addresses that are open, in the order of their names for people.
func (l *Listeners) Addrs() (all []net.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.open {
		all = append(all, s.listener.Addr())
	}
	slices.SortFunc(all, func(a, b net.Addr) int { return cmp.Compare(a.String(), b.String()) })
	return all
}

// Failures returns why addresses cannot be listened on, by address.
func (l *Listeners) Failures() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]string{}
	for key, why := range l.failed {
		out[key.address] = why
	}
	return out
}

// Close ends all of them, and returns when they have ended.
func (l *Listeners) Close() {
	l.mu.Lock()
	l.closed = true
	if l.again != nil {
		l.again.Stop()
	}
	for key, s := range l.open {
		l.stop(s)
		delete(l.open, key)
	}
	l.mu.Unlock()
	l.all.Wait()
}
