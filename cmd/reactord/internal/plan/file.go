package plan

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"github.com/reactord/reactord/cmd/reactord/internal/sets/list"
)

// File is the part that the configuration file contributes.
type File struct {
	Config *config.Config // valid
	// Addresses is the address of each host of a listener or a server. A host may be a name.
	Addresses map[string]netip.Addr
	// Servers and Clients have the contents of the files of TLS settings, by the names of the listeners and backends.
	Servers map[string]*certs.Server
	Clients map[string]*certs.Client
	// RouteServers has the same of the routes of listeners: see [Listener.RouteKeys].
	RouteServers map[string][]*certs.Server
	// Lists has the contents of the files of sets.
	Lists map[list.Key]*list.List
	// Own has the addresses on which the process answers besides the metrics and the admin API of Config.
	Own []OwnAddress
	// Errors returns problems of Config as an error that names the place in the file, or the flag, of each.
	Errors func([]config.Problem) error
	// Place returns where a setting is written, for people: "FILE:LINE:COLUMN". If it is nil, Origin of the file's
	// servers is "file".
	Place func(path string) string
	// Origin returns where the value of a setting comes from, for people: "FILE:LINE" or "default". It may be nil.
	Origin func(path string) string

	sources map[Source]bool // see Sources
}

// Address returns the address of a setting, with its host resolved.
func (f *File) Address(a config.Address) netip.AddrPort {
	ip, ok := f.Addresses[a.Host]
	if !ok {
		ip, _ = netip.ParseAddr(a.Host)
	}
	return netip.AddrPortFrom(ip, a.Port)
}

// ServerAddress returns the address of a server, with its host resolved.
func (f *File) ServerAddress(a config.Address) serveraddr.Addr {
	if a.Path != "" {
		return serveraddr.Unix(a.Path)
	}
	return serveraddr.IP(f.Address(a))
}

// Explain returns problems of Config as an error: see Errors.
func (f *File) Explain(problems []config.Problem) error {
	if f.Errors != nil {
		return f.Errors(problems)
	}
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = errors.New(p.Path + ": " + p.String())
	}
	return errors.Join(errs...)
}

func (f *File) has(backend string) bool {
	return slices.ContainsFunc(f.Config.Backends, func(b config.Backend) bool { return b.Name == backend })
}

// Sources returns the sources of all backends, and gathers them on the first call. f may be nil. Only one goroutine may
// call it at a time.
func (f *File) Sources() map[Source]bool {
	if f == nil {
		return nil
	}
	if f.sources == nil {
		f.sources = sourcesOf(f.Config.Backends)
	}
	return f.sources
}

func sourcesOf(backends []config.Backend) map[Source]bool {
	all := map[Source]bool{}
	for i := range backends {
		for _, s := range Sources(&backends[i]) {
			all[s] = true
		}
	}
	return all
}

func (f *File) place(path string) string {
	if f.Place == nil {
		return "file"
	}
	return f.Place(path)
}

// ListenerPath returns the path of the settings of a listener of the plan, as in "listeners[0]", or "" if the file has
// no such listener. A listener of a range of ports has those of the range.
func (f *File) ListenerPath(name string) string {
	of, _, _ := strings.Cut(name, ":")
	for i := range f.Config.Listeners {
		l := &f.Config.Listeners[i]
		if l.Name == name || l.Name == of && len(l.Address.Ports()) > 1 {
			return fmt.Sprintf("listeners[%d]", i)
		}
	}
	return ""
}

// BackendPath returns the path of the settings of a backend, or "".
func (f *File) BackendPath(name string) string {
	for i := range f.Config.Backends {
		if f.Config.Backends[i].Name == name {
			return fmt.Sprintf("backends[%d]", i)
		}
	}
	return ""
}
