package engine

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/sys/unix"
)

// Target is the address that connections go to: tcp://HOST:PORT, tls://HOST:PORT, udp://HOST:PORT, unix:///PATH or
// unix://@NAME for an abstract address (see unix(7)).
type Target struct {
	URL    string
	Scheme string         // tcp, tls, udp or unix
	Addr   netip.AddrPort // for all schemes except unix
	Path   string         // for unix
	Host   string         // as given, with the port
}

// ParseTarget parses a URL. A host name is resolved once.
func ParseTarget(text string) (Target, error) {
	t, err := ParseListen(text)
	if err == nil && t.Addr.IsValid() && t.Addr.Port() == 0 {
		return t, fmt.Errorf("%q has no port to connect to", text)
	}
	return t, err
}

// ParseListen parses the URL of a server. Port 0 means any free port.
func ParseListen(text string) (Target, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	t := Target{URL: text, Scheme: scheme, Host: rest}
	if !ok || rest == "" {
		return t, fmt.Errorf("%q does not have the form SCHEME://ADDRESS", text)
	}
	switch scheme {
	case "unix":
		t.Path, t.Host = rest, "localhost"
		if len(rest) >= len(unix.RawSockaddrUnix{}.Path) {
			return t, fmt.Errorf("%q: the path is too long for a unix socket", text)
		}
		return t, nil
	case "tcp", "tls", "udp":
		if u, err := url.Parse(text); err != nil || u.Path != "" || u.Port() == "" {
			return t, fmt.Errorf("%q does not have the form %s://HOST:PORT", text, scheme)
		}
		a, err := net.ResolveUDPAddr("udp", rest) // the lookup is the same for all three
		if err != nil {
			return t, err
		}
		ap := a.AddrPort()
		t.Addr = netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
		if !ap.Addr().IsValid() {
			return t, fmt.Errorf("%q has no address", text)
		}
		return t, nil
	}
	return t, fmt.Errorf("%q has an unknown scheme: the schemes are tcp, tls, udp and unix", text)
}

// Datagrams reports whether the target takes datagrams instead of a stream.
func (t Target) Datagrams() bool { return t.Scheme == "udp" }

// family and kind are arguments of socket(2).
func (t Target) family() int {
	switch {
	case t.Scheme == "unix":
		return unix.AF_UNIX
	case t.Addr.Addr().Is4():
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func (t Target) kind() int {
	if t.Datagrams() {
		return unix.SOCK_DGRAM
	}
	return unix.SOCK_STREAM
}

// Local reports whether the address belongs to this machine.
func (t Target) Local() bool {
	if t.Scheme == "unix" || t.Addr.Addr().IsLoopback() {
		return true
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(t.Addr.Addr().AsSlice()) {
			return true
		}
	}
	return false
}

// sockaddr returns the address for connect(2).
func (t Target) sockaddr() unix.Sockaddr {
	if t.Scheme == "unix" {
		return &unix.SockaddrUnix{Name: t.Path}
	}
	return ipSockaddr(t.Addr)
}

func ipSockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// Sources are local addresses that connections are bound to, round-robin. Without any, the kernel chooses.
type Sources []netip.Addr

// maxSources bounds the number of source addresses.
const maxSources = 1 << 16

// ParseSources parses a list of addresses and ranges: 127.0.0.2-127.0.0.9,10.0.0.1.
func ParseSources(text string) (s Sources, err error) {
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			continue
		}
		low, high, ranged := strings.Cut(item, "-")
		first, err := netip.ParseAddr(low)
		if err != nil {
			return nil, err
		}
		last := first
		if ranged {
			if last, err = netip.ParseAddr(high); err != nil {
				return nil, err
			}
		}
		if last.Less(first) || last.Is4() != first.Is4() {
			return nil, fmt.Errorf("%s is not a range of addresses", item)
		}
		for a := first; ; a = a.Next() {
			if s = append(s, a); len(s) > maxSources {
				return nil, errors.New("too many source addresses")
			}
			if a == last {
				break
			}
		}
	}
	return s, nil
}

// bind binds a socket to a source address. The kernel chooses the port at connect(2), when it knows the target. So
// every source has all ports for every target. See ip(7), IP_BIND_ADDRESS_NO_PORT.
func bind(fd int, source netip.Addr) error {
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
		return err
	}
	return unix.Bind(fd, ipSockaddr(netip.AddrPortFrom(source, 0)))
}

// PortRange is the range of local ports. The zero value is the range of the system.
type PortRange struct{ Low, High uint16 }

// UnmarshalText implements encoding.TextUnmarshaler: 40000-40999.
func (p *PortRange) UnmarshalText(text []byte) error {
	if n, err := fmt.Sscanf(string(text), "%d-%d", &p.Low, &p.High); n != 2 || err != nil || p.Low == 0 || !p.valid() {
		return fmt.Errorf("%q is not a range of ports such as 40000-40999", text)
	}
	return nil
}

func (p PortRange) valid() bool { return p.Low <= p.High && (p.Low > 0 || p.High == 0) }

// limit restricts a socket to the range. See ip(7), IP_LOCAL_PORT_RANGE, which Linux has since 6.3.
func (p PortRange) limit(fd int) error {
	const localPortRange = 51 // IP_LOCAL_PORT_RANGE of include/uapi/linux/in.h
	return unix.SetsockoptInt(fd, unix.IPPROTO_IP, localPortRange, int(p.High)<<16|int(p.Low))
}
