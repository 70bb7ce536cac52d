package translate

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// maxName is how many bytes a name has at most.
const maxName = 255

// nameFault is what is wrong with the name of a resource, or "". Control planes have names of any form; what is refused
// could not be shown.
func nameFault(name string) string {
	switch {
	case name == "":
		return "is no name"
	case len(name) > maxName:
		return fmt.Sprintf("has more than %d bytes", maxName)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) }):
		return "has characters that cannot be shown"
	}
	return ""
}

// isServerName reports whether a client may ask for a name, in the ClientHello.
func isServerName(name string) bool {
	l := config.NewListener()
	l.Routes = []config.Route{config.NewRoute()}
	l.Routes[0].SNI = []string{strings.ToLower(name)}
	return !strings.Contains(name, "*") && len(faults(&l)) == 0
}

// faults is what is wrong with the settings of a listener, but for its name, its address and its backends.
func faults(l *config.Listener) []config.Problem {
	b := config.NewBackend()
	b.Name = "backend"
	b.Servers = []config.Server{config.NewServer()}
	b.Servers[0].Address = config.Address{Host: "192.0.2.1", Port: 1}
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
	return c.Validate()
}
