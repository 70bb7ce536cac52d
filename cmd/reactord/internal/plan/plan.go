package plan

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Plan is everything that the proxy does. It is immutable: it may be read from any thread, for ever.
type Plan struct {
	Revision  uint64 // counts plans that were put in force
	Limits    config.Limits
	Drain     config.Drain
	AccessLog config.AccessLog
	Listeners []Listener // in the order of their names
	Backends  []Backend  // in the order of their names
}

// Listener is an address on which connections are accepted. Its key is Bind: a listener that keeps it keeps its sockets
// and connections.
type Listener struct {
	config.Listener
	Bind netip.AddrPort // port 0: any free one; then the key is the name, too
	FD   string         // "" or the name of a socket of the service manager (fd://NAME)
}

// Backend is a group of servers. Its key is its name.
type Backend struct {
	Settings *config.Backend // the policies; not its Servers, DNS, Files and HTTP
	Servers  []Server        // in the order of their addresses
}

// Server is a server of a backend. Its key is its backend and Address.
type Server struct {
	Name           string // for logs and metrics; unique in the backend
	Address        netip.AddrPort
	Weight         int // 0 to 1000
	Priority       int
	Backup         bool
	Locality       string
	MaxConnections int    // 0: no limit
	State          State  // what the sources say; health is not part of a plan
	Origin         string // where it comes from, for people: "FILE:LINE:COLUMN", "dns NAME", …
}

// ListenerKey identifies a listener across plans.
type ListenerKey struct {
	Bind netip.AddrPort
	FD   string
	Name string // only if Bind does not tell listeners apart: port 0
}

// Key is what tells l from other listeners, in this plan and the next ones.
func (l *Listener) Key() ListenerKey {
	k := ListenerKey{Bind: l.Bind, FD: l.FD}
	if l.FD == "" && l.Bind.Port() == 0 {
		k.Name = l.Name
	}
	return k
}

// Name is the name of the backend.
func (b *Backend) Name() string { return b.Settings.Name }

// Backend is the backend of a name, or nil.
func (p *Plan) Backend(name string) *Backend {
	i, found := slices.BinarySearchFunc(p.Backends, name, func(b Backend, name string) int {
		return strings.Compare(b.Name(), name)
	})
	if !found {
		return nil
	}
	return &p.Backends[i]
}

// Server is the server of this address (IP:PORT), or of this name if it is none; or nil.
func (b *Backend) Server(name string) *Server {
	at, err := netip.ParseAddrPort(name)
	i := slices.IndexFunc(b.Servers, func(s Server) bool {
		if err == nil {
			return s.Address == at
		}
		return s.Name == name
	})
	if i < 0 {
		return nil
	}
	return &b.Servers[i]
}
