package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/reactor"
	"go.uber.org/zap"
)

// resolveTimeout bounds how long the start waits for the names of a configuration.
const resolveTimeout = 10 * time.Second

// forever stands for no timeout, which the data path has no word for.
const forever = 100 * 365 * 24 * time.Hour

// resolve makes the data path's configuration, with addresses for names.
func resolve(cfg *config.Config, log *zap.Logger) (proxy.Config, error) {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	out := proxy.Config{Ring: reactor.Kind(cfg.Ring), Loops: cfg.Loops, Pin: cfg.Pin, Log: log}
	for _, l := range cfg.Listeners {
		addr, err := lookup(ctx, l.Address)
		if err != nil {
			return out, fmt.Errorf("listener %s: %w", l.Name, err)
		}
		out.Listeners = append(out.Listeners, proxy.Listener{
			Name: l.Name, Address: addr, Backend: l.Backend, MaxConnections: l.MaxConnections,
		})
	}
	for _, b := range cfg.Backends {
		servers := make([]proxy.Server, len(b.Servers))
		for i, s := range b.Servers {
			addr, err := lookup(ctx, s)
			if err != nil {
				return out, fmt.Errorf("backend %s: %w", b.Name, err)
			}
			servers[i] = proxy.Server{Name: s.HostPort(), Address: addr}
		}
		out.Backends = append(out.Backends, proxy.Backend{
			Name:             b.Name,
			Servers:          servers,
			ConnectTimeout:   b.ConnectTimeout,
			IdleTimeout:      orForever(b.IdleTimeout),
			HalfCloseTimeout: orForever(b.HalfCloseTimeout),
			Buffer:           int(b.Buffer),
		})
	}
	return out, nil
}

func orForever(d time.Duration) time.Duration {
	if d == 0 {
		return forever
	}
	return d
}

// lookup finds the address of a host: of several, the first one of IPv4 if there is any, as
// net.ResolveTCPAddr does, because a server that listens on one address only mostly listens on that.
func lookup(ctx context.Context, a config.Address) (netip.AddrPort, error) {
	if ip, err := netip.ParseAddr(a.Host); err == nil {
		return netip.AddrPortFrom(ip, a.Port), nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", a.Host)
	if err != nil {
		return netip.AddrPort{}, err
	}
	best := found[0]
	for _, ip := range found {
		if ip.Unmap().Is4() {
			best = ip
			break
		}
	}
	return netip.AddrPortFrom(best.Unmap(), a.Port), nil
}
