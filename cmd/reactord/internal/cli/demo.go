package cli

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/daemon"
	"github.com/reactord/reactord/cmd/reactord/internal/loader"
)

type demoCommand struct {
	Ring  string `default:"${ring}" help:"Kernel interface: ${rings} (${default})."`
	Loops int    `default:"1" help:"Number of I/O threads. 0: one for each CPU (${default})."`
}

// Run runs the daemon in front of an echo server.
func (c demoCommand) Run(inherited *daemon.Inherited) error {
	echo, err := listenEcho()
	if err != nil {
		return err
	}
	defer echo.Close()
	cfg := c.config(echo.addr())
	if err := flagErrors(cfg.Validate()); err != nil {
		return err
	}
	return daemon.Run(daemon.Config{
		Loader: loader.FromConfig(cfg, flagErrors), Inherited: inherited,
		Started: func(a daemon.Addresses) { explainDemo(a, echo.addr()) },
	})
}

func (c demoCommand) config(server netip.AddrPort) *config.Config {
	loopback := config.Address{Host: "127.0.0.1"}
	b := config.NewBackend()
	to := config.NewServer()
	to.Address = config.Address{Host: server.Addr().String(), Port: server.Port()}
	b.Name, b.Servers = "echo", []config.Server{to}
	cfg := config.New()
	cfg.Ring, cfg.Loops = c.Ring, c.Loops
	cfg.Metrics.Address = loopback
	cfg.Log.Level = "debug" // to log each connection
	l := config.NewListener()
	l.Name, l.Address, l.Backend = "demo", loopback, b.Name
	cfg.Listeners = []config.Listener{l}
	cfg.Backends = []config.Backend{b}
	return cfg
}

func explainDemo(a daemon.Addresses, server netip.AddrPort) {
	proxy, metrics := a.Listeners[0], a.Metrics
	fmt.Printf(`
A proxy on %s proxies connections to an echo server on %s. Try it:

  echo hello | nc -N %s %d
  curl http://%s/metrics

Ctrl-C stops it after all connections have ended; a second Ctrl-C stops it immediately.

`, proxy, server, proxy.Addr(), proxy.Port(), metrics)
}

// echoServer sends back the bytes that it receives. It uses package net only.
type echoServer struct {
	listener net.Listener
	conns    sync.WaitGroup
}

// listenEcho starts an echo server on a free local port.
func listenEcho() (*echoServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &echoServer{listener: l}
	s.conns.Go(s.accept)
	return s, nil
}

func (s *echoServer) addr() netip.AddrPort { return s.listener.Addr().(*net.TCPAddr).AddrPort() }

func (s *echoServer) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		s.conns.Go(func() {
			defer c.Close()
			_, _ = io.Copy(c, c) // an error means that the client has gone
		})
	}
}

// Close stops accepting, and waits for the connections to end, which the proxy has closed.
func (s *echoServer) Close() error {
	err := s.listener.Close()
	s.conns.Wait()
	return err
}
