package plan

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// Plan is everything that the proxy does. It is immutable, and may be read from any thread, forever.
type Plan struct {
	Revision  uint64 // counts the plans that took effect
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
	Network config.Network // see [config.Address.Network]
	Bind    netip.AddrPort // port 0: any free one; then the name is part of the key
	Path    string         // of a unix socket; "@" and its name if it is abstract
	FD      string         // "" or the name of a socket of the service manager (fd://NAME)
	Keys    *certs.Server  // the contents of the files of its TLS settings; nil without TLS termination
	// RouteKeys has the keys of its routes, by index, with nil for a route without certificates. It is nil if none has
	// any.
	RouteKeys []*certs.Server
}

// Backend is a group of servers. Its key is its name.
type Backend struct {
	Settings *config.Backend // the policies; not its Servers and Discovery
	Servers  []Server        // in the order of their addresses
	Keys     *certs.Client   // the contents of the files of its TLS settings; nil without TLS to the servers
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
	MaxConnections int   // 0: no limit
	Plain          bool  // no TLS with it, although the backend has TLS
	State          State // as the sources set it; health is not part of a plan
	// Check and Agent override those of the backend; nil if the server has none of its own. See [Server.WithChecks].
	Check  *config.ServerCheck
	Agent  *config.ServerAgent
	Health Health // auto, unless an operator forces it
	Origin string // where it comes from, for people: "FILE:LINE:COLUMN", "dns NAME", …
	// Reason and HealthReason say why State and Health are not those of the source, for people; "" if they are.
	Reason       string
	HealthReason string
	ByHand       bool // an operator has added it, and no source has it
}

// ListenerKey identifies a listener across plans. It includes what the kernel cannot change on an open socket: a
// listener whose interface changes is another one, with new sockets.
type ListenerKey struct {
	Network   config.Network
	Bind      netip.AddrPort
	Path      string
	FD        string
	Name      string // only if Bind does not distinguish listeners: port 0
	Interface string // that the sockets are bound to
	IPv6Only  bool   // [::] is without IPv4
}

// Key returns the identity of l in this plan and the next ones.
func (l *Listener) Key() ListenerKey {
	k := ListenerKey{
		Network: l.Network, Bind: l.Bind, Path: l.Path, FD: l.FD, Interface: l.Socket.Interface, IPv6Only: l.Socket.IPv6Only,
	}
	if l.FD == "" && l.Path == "" && l.Bind.Port() == 0 {
		k.Name = l.Name
	}
	return k
}

// IsUDP reports whether l receives datagrams.
func (l *Listener) IsUDP() bool { return l.Network == config.UDPNetwork }

// IsUDP reports whether the listener receives datagrams.
func (k ListenerKey) IsUDP() bool { return k.Network == config.UDPNetwork }

// Place returns where l listens, for people: "IP:PORT", "udp://IP:PORT", "unix://PATH", or "fd://NAME". An interface
// follows, as in "0.0.0.0:80 on eth0".
func (l *Listener) Place() string { return l.Key().Place() }

// Place returns where the listener listens: see [Listener.Place].
func (k ListenerKey) Place() string {
	switch {
	case k.FD != "" && k.IsUDP():
		return "fd+udp://" + k.FD
	case k.FD != "":
		return "fd://" + k.FD
	case k.Path != "":
		return "unix://" + k.Path
	}
	place := k.Bind.String()
	if k.IsUDP() {
		place = "udp://" + place
	}
	if k.Interface != "" {
		place += " on " + k.Interface
	}
	return place
}

// Name returns the name of the backend.
func (b *Backend) Name() string { return b.Settings.Name }

// Backend returns the backend of this name, or nil.
func (p *Plan) Backend(name string) *Backend {
	i, found := slices.BinarySearchFunc(p.Backends, name, func(b Backend, name string) int {
		return strings.Compare(b.Name(), name)
	})
	if !found {
		return nil
	}
	return &p.Backends[i]
}

// Server returns the server with this address, as [serveraddr.Addr] writes it, or, if it is not an address, with this
// name. It returns nil if there is no such server.
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
