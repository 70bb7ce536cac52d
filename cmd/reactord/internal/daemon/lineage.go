package daemon

import (
	"net"
	"os"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/unixsocket"
	"github.com/reactord/reactord/cmd/reactord/internal/upgrade"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// Inherited is what this process has of the process before it and of the service manager, and how the next one is
// started.
type Inherited struct {
	given   *upgrade.Given
	program *upgrade.Program
	units   []upgrade.Socket // sockets of socket units; a plan to come may have them
	files   []string         // of the unix sockets of listeners; a plan may not have them any more
	stored  []upgrade.Socket // that the service manager keeps; only the planner's goroutine has it
}

// Inherit takes over what this process was given.
func Inherit() (*Inherited, error) {
	program := upgrade.NewProgram()
	given, err := upgrade.Inherit()
	return &Inherited{given: given, program: program, stored: given.Stored()}, err
}

// Fail tells the process before this one, if there is one, why this one does not take over.
func (k *Inherited) Fail(err error) { k.given.Fail(err) }

// listenSockets takes the sockets for listeners.
func (k *Inherited) listenSockets() (all []proxy.ListenSocket) {
	for _, s := range k.given.Take(func(name string) bool { _, is := upgrade.ListenerKey(name); return is }) {
		key, _ := upgrade.ListenerKey(s.Name)
		if key.FD != "" {
			k.units = append(k.units, s)
		}
		if key.Path != "" && !strings.HasPrefix(key.Path, "@") {
			k.files = append(k.files, key.Path)
		}
		all = append(all, proxy.ListenSocket{Key: key, FD: s.FD})
	}
	return all
}

// The names of the sockets for metrics and for the admin API at an address of the configuration.
func metricsName(c *config.Config) string { return "metrics " + c.Metrics.Address.String() }
func adminName(c *config.Config) string   { return "admin " + c.Admin.Address }

// discard closes the sockets that this process does not use. The address of the admin API is another one than before if
// its socket is among them: then the file of the old one is removed. So are those of listeners that the plan does not
// have.
func (k *Inherited) discard(p *plan.Plan) {
	for _, path := range k.files {
		if !slices.ContainsFunc(p.Listeners, func(l plan.Listener) bool { return l.Path == path }) {
			if f, err := unixsocket.Adopt(path); err == nil {
				_ = f.Remove()
			}
		}
	}
	for _, s := range k.given.Sockets() {
		if path, is := strings.CutPrefix(s.Name, "admin unix://"); is {
			_ = os.Remove(path)
		}
	}
	k.given.Discard()
}

// listener is the socket of a name that this process was given, or nil.
func (k *Inherited) listener(name string) (net.Listener, error) {
	for _, s := range k.given.Take(func(n string) bool { return n == name }) {
		f := os.NewFile(uintptr(s.FD), s.Name)
		defer f.Close() // the listener has a copy
		return net.FileListener(f)
	}
	return nil, nil //nolint:nilnil // there is none
}

// listenMetrics listens for metrics.
func (k *Inherited) listenMetrics(f *plan.File, log *zap.Logger) (*admin.Server, error) {
	m := f.Config.Metrics
	l, err := k.listener(metricsName(f.Config))
	if l == nil && err == nil {
		return admin.Listen(f.Address(m.Address).String(), m.WebConfigFile, log)
	}
	return admin.TakeOver(l, m.WebConfigFile, log), err
}

// listenAdmin listens for the admin API.
func (k *Inherited) listenAdmin(c *config.Config, log *zap.Logger) (*admin.API, error) {
	l, err := k.listener(adminName(c))
	switch {
	case err != nil:
		return nil, err
	case l == nil:
		return admin.ListenAPI(c.Admin, log)
	}
	return admin.TakeOverAPI(c.Admin, l, log)
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

// allSockets are those, and those for metrics and the admin API.
func (d *daemon) allSockets() (all []upgrade.Socket, err error) {
	defer func() {
		if err != nil {
			closeSockets(all)
		}
	}()
	if all, err = d.sockets(); err != nil {
		return all, err
	}
	c := d.loader.Config() // what a reload cannot change
	if d.admin != nil {
		fd, err := d.admin.Dup()
		if err != nil {
			return all, err
		}
		all = append(all, upgrade.Socket{Name: metricsName(c), FD: fd})
	}
	if d.api != nil {
		fd, err := d.api.Dup()
		if err != nil {
			return all, err
		}
		all = append(all, upgrade.Socket{Name: adminName(c), FD: fd})
	}
	return all, nil
}

func closeSockets(all []upgrade.Socket) {
	for _, s := range all {
		_ = unix.Close(s.FD)
	}
}

// forSuccessor are the sockets with those of units instead of the copies that the loops have: a unit's socket may be of
// no listener now.
func (k *Inherited) forSuccessor(all []upgrade.Socket) []upgrade.Socket {
	out := append([]upgrade.Socket{}, k.units...)
	for _, s := range all {
		if key, is := upgrade.ListenerKey(s.Name); !is || key.FD == "" {
			out = append(out, s)
		}
	}
	return out
}
