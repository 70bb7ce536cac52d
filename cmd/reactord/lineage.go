package main

import (
	"net"
	"os"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/upgrade"
	"golang.org/x/sys/unix"
)

// lineage is what this process has of the process before it and of the service manager, and how the next one is
// started.
type lineage struct {
	given   *upgrade.Given
	program *upgrade.Program
	units   []upgrade.Socket // sockets of socket units; a plan to come may have them
	stored  []upgrade.Socket // that the service manager keeps; only the planner's goroutine has it
}

// inherit takes over what this process was given.
func inherit() (*lineage, error) {
	program, err := upgrade.NewProgram()
	if err != nil {
		return nil, err
	}
	given, err := upgrade.Inherit()
	return &lineage{given: given, program: program, stored: given.Stored()}, err
}

// listenSockets takes the sockets for listeners.
func (k *lineage) listenSockets() (all []proxy.ListenSocket) {
	for _, s := range k.given.Take(func(name string) bool { _, is := upgrade.ListenerKey(name); return is }) {
		key, _ := upgrade.ListenerKey(s.Name)
		if key.FD != "" {
			k.units = append(k.units, s)
		}
		all = append(all, proxy.ListenSocket{Key: key, FD: s.FD})
	}
	return all
}

// metricsName is the name of the socket for metrics at an address of the configuration.
func metricsName(a config.Address) string { return upgrade.Metrics + " " + a.String() }

// listenMetrics is the socket for metrics that this process was given, or else one of its own.
func (k *lineage) listenMetrics(configured config.Address, address string) (net.Listener, error) {
	for _, s := range k.given.Take(func(name string) bool { return name == metricsName(configured) }) {
		f := os.NewFile(uintptr(s.FD), s.Name)
		defer f.Close() // the listener has a copy
		return net.FileListener(f)
	}
	return net.Listen("tcp", address)
}

// sockets are copies of the sockets of listeners. The caller closes them.
func (d *daemon) sockets() (all []upgrade.Socket, err error) {
	listening, err := d.proxy.ListenSockets()
	if err != nil {
		return nil, err
	}
	for _, s := range listening {
		all = append(all, upgrade.Socket{Name: upgrade.ListenerName(s.Key), FD: s.FD})
	}
	return all, nil
}

// allSockets are those, and that for metrics.
func (d *daemon) allSockets() ([]upgrade.Socket, error) {
	all, err := d.sockets()
	if err != nil || d.admin == nil {
		return all, err
	}
	fd, err := d.admin.Dup()
	if err != nil {
		closeSockets(all)
		return nil, err
	}
	return append(all, upgrade.Socket{Name: metricsName(d.conf.first.Config.Metrics), FD: fd}), nil
}

func closeSockets(all []upgrade.Socket) {
	for _, s := range all {
		_ = unix.Close(s.FD)
	}
}

// forSuccessor are the sockets with those of units instead of the copies that the loops have: a unit's socket may be of
// no listener now.
func (k *lineage) forSuccessor(all []upgrade.Socket) []upgrade.Socket {
	out := append([]upgrade.Socket{}, k.units...)
	for _, s := range all {
		if key, is := upgrade.ListenerKey(s.Name); !is || key.FD == "" {
			out = append(out, s)
		}
	}
	return out
}
