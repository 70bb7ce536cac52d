package plan

import (
	"errors"
	"maps"
	"net/netip"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Parts is what the sources say: everything that a plan is merged from. What it refers to is not changed any more.
type Parts struct {
	File       *File
	Control    *Control // nil: there is none
	Discovered map[Source][]Server
	Overrides  map[ServerKey]Override

	made *whole // of File and Control; see [Parts.whole]
}

// with is a copy of p to which the edits are made.
func (p Parts) with(edits ...func(*Parts) error) (Parts, error) {
	discovered, overrides := p.Discovered, p.Overrides
	p.Discovered, p.Overrides = map[Source][]Server{}, map[ServerKey]Override{}
	maps.Copy(p.Discovered, discovered)
	maps.Copy(p.Overrides, overrides)
	was := p
	for _, edit := range edits {
		if err := edit(&p); err != nil {
			return Parts{}, err
		}
	}
	if p.File != was.File || p.Control != was.Control {
		p.forget(was.File == nil)
	}
	return p, nil
}

// forget forgets what belongs to sources and backends that do not exist. first: there was no plan before. Then a
// control plane that has not said anything yet may still have the backends of overrides.
func (p *Parts) forget(first bool) {
	known := p.sources()
	maps.DeleteFunc(p.Discovered, func(s Source, _ []Server) bool { return !known[s] })
	if !first || p.Control != nil || !p.File.Config.XDS.Enabled() {
		maps.DeleteFunc(p.Overrides, func(k ServerKey, _ Override) bool { return !p.has(k.Backend) })
	}
}

// File is the part of the configuration file.
type File struct {
	Config *config.Config // valid
	// Addresses is the address of each host of a listener or a server. A host may be a name.
	Addresses map[string]netip.Addr
	// Servers and Clients are what the files of the TLS settings hold, by the names of the listeners and backends.
	Servers map[string]*certs.Server
	Clients map[string]*certs.Client
	// RouteServers are those of the routes of listeners: see [Listener.RouteKeys].
	RouteServers map[string][]*certs.Server
	// Own is where the process answers besides the metrics and the admin API of Config.
	Own []OwnAddress
	// Errors makes an error of problems of Config: it says in which place of the file, or in which flag, each
	// problem is.
	Errors func([]config.Problem) error
	// Place is where a setting is, for people: "FILE:LINE:COLUMN". nil: Origin of the file's servers is "file".
	Place func(path string) string
	// Origin is where the value of a setting comes from, for people: "FILE:LINE" or "default". It may be nil.
	Origin func(path string) string

	known map[Source]bool // see sources
}

// Address is the address of a setting.
func (f *File) Address(a config.Address) netip.AddrPort {
	ip, ok := f.Addresses[a.Host]
	if !ok {
		ip, _ = netip.ParseAddr(a.Host)
	}
	return netip.AddrPortFrom(ip, a.Port)
}

func (f *File) errors(problems []config.Problem) error {
	if f.Errors != nil {
		return f.Errors(problems)
	}
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = errors.New(p.Path + ": " + p.String())
	}
	return errors.Join(errs...)
}

func (f *File) place(path string) string {
	if f.Place == nil {
		return "file"
	}
	return f.Place(path)
}

// sources is the sources of all backends. Only the planner's goroutine calls it.
func (p *Parts) sources() map[Source]bool {
	if len(p.Control.sources()) == 0 {
		return p.File.sources()
	}
	all := maps.Clone(p.Control.sources())
	maps.Copy(all, p.File.sources())
	return all
}

// has reports whether there is such a backend.
func (p *Parts) has(backend string) bool { return p.File.has(backend) || p.Control.has(backend) }

// ServerKey identifies a server across plans.
type ServerKey struct {
	Backend string
	Address netip.AddrPort
}

// Override is what an operator says about a server. It stays until it is replaced, or the file has no such backend any
// more. The zero Override leaves the server as its source says.
type Override struct {
	State  *State // nil: as the source says
	Weight *int   // likewise
}

// IsZero reports whether o overrides nothing.
func (o Override) IsZero() bool { return o == Override{} }
