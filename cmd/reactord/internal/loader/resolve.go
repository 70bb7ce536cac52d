package loader

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

const (
	// lookupTimeout bounds how long one name may take. The resolver retries after 5 s.
	lookupTimeout = 10 * time.Second
	// parallelLookups bounds how many names are looked up at a time. Each takes two queries, for IPv4 and IPv6, and a
	// forwarder such as dnsmasq refuses more than 150 at a time (--dns-forward-max).
	parallelLookups = 64
)

// Placement makes one error of the problems of a configuration. It says where each problem is: in the file, or in which
// flag.
type Placement func([]config.Problem) error

// Check reads the files that a configuration names, looks up its names, and returns its plan. warn receives what is
// unusual.
func Check(ctx context.Context, cfg *config.Config, placed Placement, warn func(string)) (*plan.Plan, error) {
	f := &plan.File{Config: cfg, Errors: placed}
	if err := readKeys(f, warn); err != nil {
		return nil, err
	}
	warnOfNames(cfg, warn)
	for _, text := range cfg.Unusual() {
		if warn != nil {
			warn(text)
		}
	}
	if err := lookUp(ctx, f); err != nil {
		return nil, err
	}
	warnOfSharedAddresses(f, warn)
	return plan.Merge(plan.Parts{File: f})
}

// warnOfSharedAddresses warns of names of servers that have the address of another server of their backend. warn may be
// nil.
func warnOfSharedAddresses(f *plan.File, warn func(string)) {
	if warn == nil {
		return
	}
	for _, b := range f.Config.Backends {
		known := map[serveraddr.Addr]string{}
		for _, s := range b.Servers {
			at, name := f.ServerAddress(s.Address), s.Address.ServerName()
			if first, twice := known[at]; !twice {
				known[at] = name
			} else if first != name {
				warn(fmt.Sprintf("servers %s and %s of backend %s have one address, %s: they are one server",
					first, name, b.Name, at))
			}
		}
	}
}

// addresses has the address of each host of a configuration. A host may be a name.
type addresses map[string]netip.Addr

func (a addresses) of(at config.Address) netip.AddrPort {
	return netip.AddrPortFrom(a[at.Host], at.Port)
}

// setting is an address with the path and the name of its setting.
type setting struct {
	path, key string
	config.Address
}

// listening returns the settings of all addresses to listen on.
func listening(cfg *config.Config) (all []setting) {
	for i, l := range cfg.Listeners {
		if l.Address.Host != "" {
			all = append(all, setting{fmt.Sprintf("listeners[%d].address", i), "address", l.Address})
		}
	}
	if !cfg.Metrics.Address.IsZero() {
		all = append(all, setting{"metrics.address", "metrics", cfg.Metrics.Address})
	}
	return all
}

// servers returns the settings of all addresses to connect to.
func servers(cfg *config.Config) (all []setting) {
	for i, b := range cfg.Backends {
		for j, s := range b.Servers {
			if s.Address.Host != "" {
				all = append(all, setting{fmt.Sprintf("backends[%d].servers[%d]", i, j), "server", s.Address})
			}
		}
	}
	return all
}

// resolve looks up every host once. It returns a problem for each setting whose host has no address.
func resolve(ctx context.Context, cfg *config.Config, lookup lookupFunc) (addresses, []config.Problem) {
	settings := append(listening(cfg), servers(cfg)...)
	found := addresses{}
	var names []string
	for _, s := range settings {
		if _, known := found[s.Host]; known {
			continue
		}
		ip, err := netip.ParseAddr(s.Host)
		if err != nil {
			names = append(names, s.Host)
		}
		found[s.Host] = ip
	}
	failed := lookupAll(ctx, names, found, lookup)
	var problems []config.Problem
	for _, s := range settings {
		if err := failed[s.Host]; err != nil {
			problems = append(problems, config.Problem{
				Path: s.path, Setting: s.key, Text: fmt.Sprintf("%q: %v", s.String(), err), Err: err,
			})
		}
	}
	return found, problems
}

// lookupFunc finds the address of a host.
type lookupFunc func(ctx context.Context, host string) (netip.Addr, error)

// lookupAll adds the addresses of the names to found, and returns the errors by name. When ctx is done it looks up no
// further names.
func lookupAll(ctx context.Context, names []string, found addresses, lookup lookupFunc) map[string]error {
	failed := map[string]error{}
	var mu sync.Mutex
	var lookups sync.WaitGroup
	room := make(chan struct{}, parallelLookups)
	for _, name := range names {
		room <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		lookups.Go(func() {
			defer func() { <-room }()
			own, cancel := context.WithTimeout(ctx, lookupTimeout)
			defer cancel()
			ip, err := lookup(own, name)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[name] = err
			} else {
				found[name] = ip
			}
		})
	}
	lookups.Wait()
	return failed
}

// lookup returns the address of a host: the first IPv4 address if there is one, as [net.ResolveTCPAddr] does. A server
// that listens on one address only usually listens on that one.
func lookup(ctx context.Context, host string) (netip.Addr, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return netip.Addr{}, err
	}
	best := found[0]
	for _, ip := range found {
		if ip.Unmap().Is4() {
			best = ip
			break
		}
	}
	return best.Unmap(), nil
}
