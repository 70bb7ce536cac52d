package plan

import (
	"net/netip"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Plan is everything that the proxy does. It is immutable: it may be read from any thread, for ever.
type Plan struct {
	Revision  uint64 // counts plans that were put in force
	Limits    config.Limits
	Drain     config.Drain
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

// State is the administrative state of a server.
type State uint8

const (
	Up          State = iota
	Drain             // no new connections
	Maintenance       // the same, and it is not checked
)
