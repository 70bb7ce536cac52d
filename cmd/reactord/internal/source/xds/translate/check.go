package translate

import (
	"errors"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// backendFaults validates the settings of a backend.
func backendFaults(b *config.Backend) error {
	l, c := config.NewListener(), config.New()
	l.Name, l.Address, l.Backend = "listener", config.Address{Host: "192.0.2.1", Port: 1}, b.Name
	c.Listeners, c.Backends = []config.Listener{l}, []config.Backend{*b}
	return problemsOf(c, "backends[0].")
}

// listenerFaults validates the settings of a listener, except its name and its backends.
func listenerFaults(l *config.Listener) error {
	b := config.NewBackend()
	b.Name = "backend"
	one, c := *l, config.New()
	one.Name, one.Backend = "listener", ""
	one.Routes = slices.Clone(l.Routes)
	if one.Address.IsZero() {
		one.Address = config.Address{Host: "192.0.2.1", Port: 1}
	}
	for i := range one.Routes {
		r := &one.Routes[i]
		r.Name, r.Backend = "", b.Name
		r.Backends = nil
	}
	if len(one.Routes) == 0 {
		one.Backend = b.Name
	}
	c.Listeners, c.Backends = []config.Listener{one}, []config.Backend{b}
	return problemsOf(c, "listeners[0].")
}

// problemsOf validates a configuration, and strips the prefix without from each path.
func problemsOf(c *config.Config, without string) error {
	var errs []error
	for _, p := range c.ValidateAdded(0, 0) {
		errs = append(errs, errors.New(strings.TrimPrefix(p.Path, without)+": "+p.String()))
	}
	return errors.Join(errs...)
}
