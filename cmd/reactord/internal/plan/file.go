package plan

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

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

	known map[Source]bool // see Sources
}

// Address is the address of a setting.
func (f *File) Address(a config.Address) netip.AddrPort {
	ip, ok := f.Addresses[a.Host]
	if !ok {
		ip, _ = netip.ParseAddr(a.Host)
	}
	return netip.AddrPortFrom(ip, a.Port)
}

// ServerAddress returns the address of a server's setting.
func (f *File) ServerAddress(a config.Address) serveraddr.Addr {
	if a.Path != "" {
		return serveraddr.Unix(a.Path)
	}
	return serveraddr.IP(f.Address(a))
}

// Explain makes an error of problems of Config: see Errors.
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

// Sources returns the sources of all backends, which are gathered at the first call. f may be nil. No two goroutines
// may call it at a time.
func (f *File) Sources() map[Source]bool {
	if f == nil {
		return nil
	}
	if f.known != nil {
		return f.known
	}
	f.known = sourcesOf(f.Config.Backends)
	return f.known
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
