package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/bench/engine"
	"github.com/reactord/reactord/bench/resp"
	"github.com/reactord/reactord/reactor"
)

// Config describes a server.
type Config struct {
	Listen    string           // tcp://HOST:PORT, tls://…, udp://…, unix:///PATH
	Behaviour string           // echo, discard, chargen, reply, delay, redis or http
	Style     string           // receiver, handler, task, goroutine or net
	Ring      reactor.RingKind // of the reactor's loops
	Loops     int              // of the reactor. Default: 1
	Pin       bool             // each loop is bound to a CPU
	Request   int              // bytes, for reply. Default: 1
	Reply     int              // bytes, for reply. Default: 128
	Delay     time.Duration    // for delay
	Seed      uint64           // of the pattern, for chargen: the seed of the load
	TLS       *tls.Config      // for tls

	store *resp.Store // of redis

	// Ready, if not nil, is called when the server listens.
	Ready func(addr net.Addr)
}

// chunk is the number of bytes of each send of chargen, and of each read of blocking servers.
const chunk = 64 << 10

// styles say what each style has.
var styles = map[string]struct{ behaviours, schemes []string }{
	"receiver":  {all[:5], []string{"tcp", "unix", "udp"}},
	"handler":   {[]string{"echo", "discard", "chargen", "reply", "redis"}, []string{"tcp", "unix", "tls"}},
	"task":      {all, []string{"tcp", "unix", "udp", "tls"}},
	"goroutine": {all, []string{"tcp", "unix", "tls"}},
	"net":       {all, []string{"tcp", "unix", "udp", "tls"}},
}

// all are the behaviours.
var all = []string{"echo", "discard", "chargen", "reply", "delay", "redis", "http"}

func (c *Config) prepare() error {
	c.Loops, c.store = max(c.Loops, 1), &resp.Store{}
	if c.Request == 0 {
		c.Request = 1
	}
	if c.Reply == 0 {
		c.Reply = 128
	}
	style, known := styles[c.Style]
	switch {
	case !known:
		return fmt.Errorf("there is no style %q", c.Style)
	case !slices.Contains(style.behaviours, c.Behaviour):
		return fmt.Errorf("the style %s has no behaviour %q", c.Style, c.Behaviour)
	case c.Request < 0 || c.Reply < 0 || c.Reply > engine.MaxMessage:
		return errors.New("the sizes of requests and replies must be positive")
	case c.Delay < 0:
		return errors.New("the delay must be positive")
	}
	return nil
}

// Run serves until ctx ends.
func Run(ctx context.Context, cfg Config) error {
	if err := cfg.prepare(); err != nil {
		return err
	}
	target, err := engine.ParseListen(cfg.Listen)
	if err != nil {
		return err
	}
	if target.Scheme != "tls" {
		cfg.TLS = nil
	} else if cfg.TLS == nil {
		return errors.New("tls needs a certificate")
	}
	switch {
	case !slices.Contains(styles[cfg.Style].schemes, target.Scheme):
		return fmt.Errorf("the style %s does not serve %s", cfg.Style, target.Scheme)
	case target.Datagrams() && !slices.Contains([]string{"echo", "discard", "delay"}, cfg.Behaviour):
		return errors.New("for datagrams the behaviour must be echo, discard or delay")
	case cfg.Style == "handler":
		return cfg.serveHandlers(ctx, target)
	case cfg.Style == "task" && !target.Datagrams():
		return cfg.serveTasks(ctx, target)
	case cfg.Style == "goroutine":
		return cfg.serveGoroutines(ctx, target)
	case cfg.Style != "net":
		return cfg.serveReactor(ctx, target)
	case target.Datagrams():
		return cfg.serveDatagrams(ctx, target)
	}
	return cfg.serveNet(ctx, target)
}

func (c *Config) ready(addr net.Addr) {
	if c.Ready != nil {
		c.Ready(addr)
	}
}

// listenFD opens a listener, or a socket for datagrams, for one of several loops. A unix socket has no SO_REUSEPORT, so
// all loops share the listener of the first one.
func listenFD(target engine.Target, first int) (int, error) {
	if target.Scheme == "unix" && first >= 0 {
		return unix.FcntlInt(uintptr(first), unix.F_DUPFD_CLOEXEC, 0)
	}
	family, sa := unix.AF_UNIX, unix.Sockaddr(&unix.SockaddrUnix{Name: target.Path})
	if target.Scheme != "unix" {
		family, sa = ipSockaddr(target.Addr)
	}
	kind := unix.SOCK_STREAM
	if target.Datagrams() {
		kind = unix.SOCK_DGRAM
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if target.Scheme != "unix" {
		err = errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
			unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
	}
	if err == nil {
		err = unix.Bind(fd, sa)
	}
	if err == nil && !target.Datagrams() {
		err = unix.Listen(fd, reactor.Backlog)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("listen on %s: %w", target.URL, err)
	}
	return fd, nil
}

func ipSockaddr(a netip.AddrPort) (int, unix.Sockaddr) {
	if a.Addr().Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}
