package upgrade

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"golang.org/x/sys/unix"
)

// Socket is a listening socket that processes pass on. Several may share a name; their order then matters.
type Socket struct {
	Name string // see [ListenerName]; or what the processes agree on
	FD   int
}

// Prefixes of listener names.
const (
	tcpPrefix  = "tcp://"  // ADDRESS, or ADDRESS/NAME if the port is any free one
	udpPrefix  = "udp://"  // likewise
	unixPrefix = "unix://" // PATH, or @NAME
	fdPrefix   = "fd://"   // NAME of a socket unit
)

// Parameters that follow the address or NAME of a listener, in the form of a URL's query.
const (
	interfaceParameter = "interface"
	ipv6OnlyParameter  = "ipv6_only"
)

// ListenerName returns the name of a listener's sockets.
func ListenerName(k plan.ListenerKey) string {
	switch {
	case k.FD != "":
		return fdPrefix + k.FD
	case k.Path != "":
		return unixPrefix + k.Path
	}
	name, options := string(k.Network)+"://"+k.Bind.String(), url.Values{}
	if k.Name != "" {
		name += "/" + k.Name
	}
	if k.Interface != "" {
		options.Set(interfaceParameter, k.Interface)
	}
	if k.IPv6Only {
		options.Set(ipv6OnlyParameter, "true")
	}
	if len(options) != 0 {
		name += "?" + options.Encode()
	}
	return name
}

// ListenerKey returns the key of the listener whose sockets have a name, or false if it is not a listener's name. For
// a socket unit it has only the FD, because the name does not contain the network.
func ListenerKey(name string) (plan.ListenerKey, bool) {
	if socket, ok := strings.CutPrefix(name, fdPrefix); ok {
		return plan.ListenerKey{FD: socket}, socket != ""
	}
	if path, ok := strings.CutPrefix(name, unixPrefix); ok {
		return plan.ListenerKey{Network: config.UnixNetwork, Path: path}, path != ""
	}
	for network, prefix := range map[config.Network]string{config.TCPNetwork: tcpPrefix, config.UDPNetwork: udpPrefix} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			rest, query, _ := strings.Cut(rest, "?")
			address, listener, _ := strings.Cut(rest, "/")
			bind, err := netip.ParseAddrPort(address)
			options, bad := url.ParseQuery(query)
			return plan.ListenerKey{
				Network: network, Bind: bind, Name: listener,
				Interface: options.Get(interfaceParameter), IPv6Only: options.Has(ipv6OnlyParameter),
			}, err == nil && bad == nil
		}
	}
	return plan.ListenerKey{}, false
}

// take prepares an inherited descriptor: programs started later do not inherit it, and it does not block a loop.
func take(s Socket) error {
	kind, err := unix.GetsockoptInt(s.FD, unix.SOL_SOCKET, unix.SO_TYPE)
	if err == nil && kind != unix.SOCK_DGRAM {
		var listens int
		listens, err = unix.GetsockoptInt(s.FD, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
		if err == nil && listens == 0 {
			err = errors.New("the socket does not listen (set ListenStream= and Accept=no in its unit)")
		}
	}
	if err == nil {
		unix.CloseOnExec(s.FD)
		err = os.NewSyscallError("fcntl", unix.SetNonblock(s.FD, true))
	}
	if err != nil {
		return fmt.Errorf("inherited descriptor %d, %q: %w", s.FD, s.Name, err)
	}
	return nil
}
