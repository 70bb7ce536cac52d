//go:build linux

package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/reactord/reactord/reactor"
)

// Config configures a server. With an address or a listener, its zero value works.
type Config struct {
	// Addr is the IP address and port to listen on. Port 0 is a free port, the same one on all loops: see [Server.Addr].
	Addr netip.AddrPort
	// SharePort lets other processes of the same user that set SO_REUSEPORT, such as this program in a newer version,
	// listen on Addr too: the kernel spreads the connections over all of them. Otherwise the one that comes second
	// fails. It does nothing for a unix socket.
	SharePort bool
	// Address is the address of any family to listen on, such as that of a unix socket, if there is no Addr. The path
	// of a unix socket must not exist; the server removes it in the end.
	Address reactor.Address
	// Listeners are listeners that exist already. The server listens on duplicates of their descriptors; the caller may
	// close the originals at any time after [Server.On], or Serve, has returned.
	Listeners []net.Listener
	// Files are descriptors of sockets that listen already, such as those of socket activation. The
	// server listens on duplicates.
	Files []*os.File
	// KeepAlive is for how long a TCP connection is idle before the kernel probes whether its peer is there:
	// see [reactor.Socket.KeepAlive]. Connections inherit it from their listener. A listener of Listeners or Files that
	// has keep-alive switched on keeps its settings. Default: [reactor.KeepAliveIdle], 15 s; negative: never.
	KeepAlive time.Duration
	// Backlog bounds the connections that wait to be accepted. Default: [reactor.Backlog].
	Backlog int

	// TLS, if not nil, is the configuration of TLS on all listeners. Its functions are called on the loop's thread, and
	// must not block.
	TLS *tls.Config
	// HandshakeTimeout bounds the handshake of TLS. Default 10 s; negative disables it.
	HandshakeTimeout time.Duration

	// Reactor configures the loops that Serve makes.
	Reactor reactor.Config
	// Ready, if not nil, is called once, on a loop's thread, when all loops of Serve listen. It gets the address that
	// the first listener is bound to.
	Ready func(net.Addr)

	// ReadTimeout bounds the time that bytes stay unread: a message that has begun to arrive must be complete by then.
	// It runs from the call of Data that left bytes until one that uses some, and stands still while the connection is
	// not read from. Default 0 disables it.
	ReadTimeout time.Duration
	// WriteTimeout bounds the time that unsent bytes make no progress. Progress is each 128 KiB, or the rest if that is
	// less. Default 1 min; negative disables it.
	WriteTimeout time.Duration
	// IdleTimeout bounds the time that a connection neither receives nor sends: a client that is silent, but takes what
	// it gets, is not idle. It stands still while the connection is paused. A connection may last a 64th longer.
	// Default 0 disables it.
	IdleTimeout time.Duration
	// Lifetime bounds the life of a connection. Default 0 disables it.
	Lifetime time.Duration
	// Grace bounds the time that connections go on when the server shuts down. Default 10 s; negative is none.
	Grace time.Duration

	// HighWater is the number of unsent bytes beyond which the connection is not read from. It is read from again when
	// half of it is left. Default 256 KiB.
	HighWater int
	// MaxUnread bounds the bytes that a handler may leave unread. Default 1 MiB.
	MaxUnread int
	// MaxConnections bounds the connections at a time. Each loop has its share of it; further ones wait in the backlog.
	// Default 0 is no limit.
	MaxConnections int

	// NoRecover lets a panic of a handler end the program. Otherwise it ends its connection, and is logged and counted.
	NoRecover bool
	// OnTaskError is called, on the loop's thread, with the error of a task that serves a connection: what its function
	// has returned, unless that is ErrStopped of package sender, or why the TLS handshake has failed. If Lifetime, Grace
	// or HandshakeTimeout has ended the task, it is, or wraps, a *TimeoutError. Default: it is logged at the level debug,
	// because most are of peers that went away.
	OnTaskError func(error)
	// ErrorLog logs panics, and listeners that have failed. Default: slog.Default.
	ErrorLog *slog.Logger
}

// lingerFor is the time that a connection that the server ended waits for the peer's EOF. Closing earlier could reset
// the connection before the peer has read everything: see tcp(7), and RFC 1122, 4.2.2.13.
const lingerFor = time.Second

func (cfg Config) withDefaults() (Config, error) {
	for name, n := range map[string]int{"HighWater": cfg.HighWater, "MaxUnread": cfg.MaxUnread,
		"MaxConnections": cfg.MaxConnections, "Backlog": cfg.Backlog} {
		if n < 0 {
			return cfg, fmt.Errorf("server: Config.%s is %d, and cannot be negative", name, n)
		}
	}
	for name, d := range map[string]time.Duration{"ReadTimeout": cfg.ReadTimeout, "IdleTimeout": cfg.IdleTimeout,
		"Lifetime": cfg.Lifetime} {
		if d < 0 {
			return cfg, fmt.Errorf("server: Config.%s is %v, and cannot be negative", name, d)
		}
	}
	if !cfg.Addr.IsValid() && cfg.Address.IsZero() && len(cfg.Listeners)+len(cfg.Files) == 0 {
		return cfg, errors.New("server: nothing to listen on: set Config.Addr, Address, Listeners or Files")
	}
	if t := cfg.TLS; t != nil && len(t.Certificates) == 0 && t.GetCertificate == nil && t.GetConfigForClient == nil {
		return cfg, errors.New("server: Config.TLS has no certificate: set Certificates, GetCertificate or " +
			"GetConfigForClient")
	}
	defaultTo(&cfg.WriteTimeout, time.Minute)
	defaultTo(&cfg.HandshakeTimeout, 10*time.Second)
	defaultTo(&cfg.Grace, 10*time.Second)
	defaultTo(&cfg.HighWater, 256<<10)
	defaultTo(&cfg.MaxUnread, 1<<20)
	if cfg.ErrorLog == nil {
		cfg.ErrorLog = slog.Default()
	}
	return cfg, nil
}

func defaultTo[T comparable](option *T, value T) {
	var zero T
	if *option == zero {
		*option = value
	}
}
