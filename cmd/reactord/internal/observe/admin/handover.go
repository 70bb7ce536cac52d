package admin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/host/unixsocket"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// A process that replaces another takes over its listening sockets. Both answer on them until the old one leaves.

// TakeOver returns a server for metrics on an inherited TCP listener. webFile is as in [Listen].
func TakeOver(l net.Listener, webFile string, log *zap.Logger) *Server {
	return &Server{server: newServer("metrics", l, webFile, maxScrapers, log)}
}

// TakeOverAPI returns the admin API on an inherited listener for the address of cfg. A unix socket keeps its file,
// with its owner and permissions.
func TakeOverAPI(cfg config.Admin, l net.Listener, log *zap.Logger) (*API, error) {
	a := &API{access: cfg.Access(), server: newServer("admin", l, cfg.WebConfigFile, maxClients, log)}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false)
		_, path, err := ParseAddress(cfg.Address)
		if err != nil {
			return nil, fmt.Errorf("admin: %w", err)
		}
		a.socket = &socket{UnixListener: u, path: path}
		if a.socket.file, err = unixsocket.Adopt(path); err != nil {
			return nil, fmt.Errorf("admin: %w", err)
		}
	}
	return a, nil
}

// ServePrivate answers requests on a listener that only processes of the same upgrade can reach, until [API.Close].
func ServePrivate(l net.Listener, d Daemon, level zap.AtomicLevel, log *zap.Logger) *API {
	a := &API{private: true, server: newServer("old process", l, "", maxClients, log)}
	a.Serve(d, level, nil)
	return a
}

// NewPrivateClient returns a client for an API of [ServePrivate], to which dial connects.
func NewPrivateClient(dial func() (net.Conn, error)) *Client {
	return &Client{Access{Address: "the old process"}, "http://localhost", http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return dial() },
	}}}
}

// Dup duplicates the listening socket for another process. The caller closes the copy.
func (s *Server) Dup() (fd int, err error) { return dup(s.listener) }

// Dup duplicates the listening socket for another process. The caller closes the copy.
func (a *API) Dup() (fd int, err error) { return dup(a.listener) }

// Leave stops the server, and leaves the file of its unix socket to the process that has taken it over.
func (a *API) Leave() error {
	a.socket = nil
	return a.server.Close()
}

// dup does not change the mode of the socket, unlike the method File.
func dup(l net.Listener) (fd int, err error) {
	raw, err := l.(syscall.Conn).SyscallConn()
	if err != nil {
		return -1, err
	}
	e := raw.Control(func(own uintptr) { fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) })
	return fd, errors.Join(e, os.NewSyscallError("fcntl", err))
}
