package daemon

import (
	"net"
	"os"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/daemon/upgrade"
	"github.com/reactord/reactord/cmd/reactord/internal/host/unixsocket"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"golang.org/x/sys/unix"
)

// Inherited has the sockets and the state that a process inherits from its predecessor and the service manager, and the
// program that starts its successor.
type Inherited struct {
	given   *upgrade.Given
	program *upgrade.Program
	units   []upgrade.Socket // of socket units; a later plan may need them
	paths   []string         // of the unix sockets of listeners; a later plan may not have them
}

// Inherit takes over the inherited descriptors. Call it before anything else opens descriptors.
func Inherit() (*Inherited, error) {
	program := upgrade.NewProgram()
	given, err := upgrade.Inherit()
	return &Inherited{given: given, program: program}, err
}

// Fail reports to the predecessor, if there is one, why this process does not take over.
func (i *Inherited) Fail(err error) { i.given.Fail(err) }

// listenSockets takes the inherited sockets of listeners.
func (i *Inherited) listenSockets() (all []proxy.ListenSocket) {
	for _, s := range i.given.Take(func(name string) bool { _, is := upgrade.ListenerKey(name); return is }) {
		key, _ := upgrade.ListenerKey(s.Name)
		if key.FD != "" {
			i.units = append(i.units, s)
		}
		if key.Path != "" && !strings.HasPrefix(key.Path, "@") {
			i.paths = append(i.paths, key.Path)
		}
		all = append(all, proxy.ListenSocket{Key: key, FD: s.FD})
	}
	return all
}

// The names of the sockets of metrics and of the admin API at an address of the configuration.
func metricsName(c *config.Config) string { return "metrics " + c.Metrics.Address.String() }
func adminName(c *config.Config) string   { return "admin " + c.Admin.Address }
func pageName(c *config.Config) string    { return "admin page " + c.Admin.Page.Address }

// listener takes the inherited listening socket with a name, or returns nil.
func (i *Inherited) listener(name string) (net.Listener, error) {
	for _, s := range i.given.Take(func(n string) bool { return n == name }) {
		f := os.NewFile(uintptr(s.FD), s.Name)
		defer f.Close() // the listener has a copy
		return net.FileListener(f)
	}
	return nil, nil //nolint:nilnil // not inherited
}

// discard closes the sockets that this process does not use, and removes their files: of unix listeners that p does not
// have, and of the admin API if its address has changed, in which case its socket was not taken.
func (i *Inherited) discard(p *plan.Plan) {
	for _, path := range i.paths {
		if !slices.ContainsFunc(p.Listeners, func(l plan.Listener) bool { return l.Path == path }) {
			if f, err := unixsocket.Adopt(path); err == nil {
				_ = f.Remove()
			}
		}
	}
	for _, s := range i.given.Sockets() {
		if path, is := strings.CutPrefix(s.Name, "admin unix://"); is {
			_ = os.Remove(path)
		}
	}
	i.given.Discard()
}

// forSuccessor returns the sockets with those of socket units in place of the loops' copies: a unit's socket may have
// no listener now.
func (i *Inherited) forSuccessor(all []upgrade.Socket) []upgrade.Socket {
	out := slices.Clone(i.units)
	for _, s := range all {
		if key, is := upgrade.ListenerKey(s.Name); !is || key.FD == "" {
			out = append(out, s)
		}
	}
	return out
}

func closeSockets(all []upgrade.Socket) {
	for _, s := range all {
		_ = unix.Close(s.FD)
	}
}
