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
	Discovered map[Source][]Server
	Overrides  map[ServerKey]Override
}

// with is a copy of p to which the edits are made.
func (p Parts) with(edits ...func(*Parts) error) (Parts, error) {
	discovered, overrides := p.Discovered, p.Overrides
	p.Discovered, p.Overrides = map[Source][]Server{}, map[ServerKey]Override{}
	maps.Copy(p.Discovered, discovered)
	maps.Copy(p.Overrides, overrides)
	for _, edit := range edits {
		if err := edit(&p); err != nil {
			return Parts{}, err
		}
	}
	return p, nil
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
	// Errors makes an error of problems of Config: it says in which place of the file, or in which flag, each problem is.
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
