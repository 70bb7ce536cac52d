package plan

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// Plan is everything that the proxy does. It is immutable: it may be read from any thread, for ever.
type Plan struct {
	Revision  uint64 // counts plans that were put in force
	Limits    config.Limits
	Drain     config.Drain
	Upgrade   config.Upgrade
	AccessLog config.AccessLog
	Listeners []Listener // in the order of their names
	Backends  []Backend  // in the order of their names
}

// Listener is an address on which connections, or datagrams, are accepted. Its key is where it listens: a listener that
// keeps it keeps its sockets and connections. A range of ports is a listener for each port: its name is that of the
// range, a colon and the port.
type Listener struct {
	config.Listener
	Network string         // "tcp", "udp" or "unix"; see [config.Address.Network]
	Bind    netip.AddrPort // port 0: any free one; then the key is the name, too
	Path    string         // of a unix socket; "@" and its name if it is abstract
	FD      string         // "" or the name of a socket of the service manager (fd://NAME)
	Keys    *certs.Server  // what the files of its TLS settings hold; nil: TLS does not end here
	// RouteKeys are the same of its routes, by index. nil: no route has certificates. A nil entry: this one has none.
	RouteKeys []*certs.Server
}

// Backend is a group of servers. Its key is its name.
type Backend struct {
	Settings *config.Backend // the policies; not its Servers and Discovery
	Servers  []Server        // in the order of their addresses
	Keys     *certs.Client   // what the files of its TLS settings hold; nil: there is no TLS with the servers
}

// Server is a server of a backend. Its key is its backend and Address.
type Server struct {
	Name           string // for logs and metrics; unique in the backend
	Address        serveraddr.Addr
	Host           string // of the address, if that was a name
	Weight         int    // 0 to 1000
	Priority       int
	Backup         bool
	Locality       string
	MaxConnections int    // 0: no limit
	Plain          bool   // no TLS with it, although the backend has TLS
	State          State  // what the sources say; health is not part of a plan
	Origin         string // where it comes from, for people: "FILE:LINE:COLUMN", "dns NAME", …
}

// ListenerKey identifies a listener across plans. What the kernel does not let change on an open socket is a part of
// it: a listener whose interface changes is another one, with sockets of its own.
type ListenerKey struct {
	Network   string
	Bind      netip.AddrPort
	Path      string
	FD        string
	Name      string // only if Bind does not tell listeners apart: port 0
	Interface string // that the sockets are bound to
	IPv6Only  bool   // [::] is without IPv4
}

// Key is what tells l from other listeners, in this plan and the next ones.
func (l *Listener) Key() ListenerKey {
	k := ListenerKey{
		Network: l.Network, Bind: l.Bind, Path: l.Path, FD: l.FD, Interface: l.Socket.Interface, IPv6Only: l.Socket.IPv6Only,
	}
	if l.FD == "" && l.Path == "" && l.Bind.Port() == 0 {
		k.Name = l.Name
	}
	return k
}

// Place is where l listens, for people: "IP:PORT", "udp://IP:PORT", "unix://PATH", or "fd://NAME". An interface
// follows, as in "0.0.0.0:80 on eth0".
func (l *Listener) Place() string { return l.Key().Place() }

// Place is where the listener listens: see [Listener.Place].
func (k ListenerKey) Place() string {
	switch {
	case k.FD != "" && k.Network == "udp":
		return "fd+udp://" + k.FD
	case k.FD != "":
		return "fd://" + k.FD
	case k.Path != "":
		return "unix://" + k.Path
	}
	place := k.Bind.String()
	if k.Network == "udp" {
		place = "udp://" + place
	}
	if k.Interface != "" {
		place += " on " + k.Interface
	}
	return place
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

// Server returns the server of this address, as [serveraddr.Addr] writes it, or of this name if it is none; or nil.
func (b *Backend) Server(name string) *Server {
	at, err := serveraddr.Parse(name)
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
