package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Address is where a listener listens or a server is reached: a TCP or UDP host and port, a unix socket, or a socket
// passed by the service manager. The zero Address means that none is set.
type Address struct {
	Host string // an IP address in its canonical form (without brackets), or a name in lower case
	Port uint16
	Last uint16 // last port of the range; 0 for a single port
	UDP  bool   // UDP instead of TCP; with FD, a datagram socket
	Path string // path of a unix socket, or "@NAME" for an abstract one; excludes Host and Port
	FD   string // name of a socket passed by the service manager; excludes Host and Port
}

// URL schemes of addresses.
const (
	scheme      = "tcp://"
	schemeUDP   = "udp://"
	schemeUnix  = "unix://"
	schemeFD    = "fd://"
	schemeFDUDP = "fd+udp://"
)

// Limits of addresses.
const (
	maxUnixPath = 107 // bytes of sun_path, see unix(7)
	maxRange    = 4096
)

// ParseAddress reads "tcp://HOST:PORT", "tcp://HOST:FIRST-LAST", the same with udp, "unix:///PATH", "unix://@NAME",
// "fd://NAME", or "fd+udp://NAME". An IPv6 host is in brackets. "tcp://" is optional.
func ParseAddress(text string) (Address, error) {
	name, rest, found := strings.Cut(text, "://")
	if !found {
		return parseHostPort(scheme, text)
	}
	switch prefix := name + "://"; prefix {
	case scheme, schemeUDP:
		return parseHostPort(prefix, rest)
	case schemeUnix:
		return parseUnix(rest)
	case schemeFD, schemeFDUDP:
		return parseFD(prefix, rest)
	}
	return Address{}, fmt.Errorf("scheme %s is unknown: write %s%s", quote(name), scheme, clip(rest))
}

func parseHostPort(prefix, rest string) (Address, error) {
	if _, _, err := parsePorts(rest); err == nil { // ports only
		rest = ":" + rest
	}
	host, ports, err := net.SplitHostPort(rest)
	if err != nil {
		return Address{}, splitHint(prefix, rest, err)
	}
	if host == "" {
		return Address{}, fmt.Errorf("no host: write %s127.0.0.1:%s for this machine only, "+
			"or %[1]s[::]:%[2]s for every address", prefix, clip(ports))
	}
	a := Address{UDP: prefix == schemeUDP}
	if a.Port, a.Last, err = parsePorts(ports); err != nil {
		return Address{}, err
	}
	if a.Host, err = parseHost(host, strings.HasPrefix(rest, "[")); err != nil {
		return Address{}, err
	}
	return a, nil
}

func parseUnix(path string) (Address, error) {
	abstract := strings.HasPrefix(path, "@")
	switch {
	case path == "" || path == "@":
		return Address{}, fmt.Errorf("no path: write %s/PATH, or %[1]s@NAME for an abstract socket", schemeUnix)
	case len(path) > maxUnixPath:
		return Address{}, fmt.Errorf("the path of a unix socket is limited to %d bytes, "+
			"and this one has %d", maxUnixPath, len(path))
	case !utf8.ValidString(path) || strings.IndexFunc(path, unicode.IsControl) >= 0:
		return Address{}, errors.New("the path of a unix socket must be UTF-8 without control characters")
	case abstract:
	case path[0] != '/':
		return Address{}, fmt.Errorf("the path is not absolute: write %s/PATH, or %[1]s@NAME for an abstract socket",
			schemeUnix)
	case filepath.Clean(path) != path:
		return Address{}, fmt.Errorf("write %s%s", schemeUnix, filepath.Clean(path))
	}
	return Address{Path: path}, nil
}

// parseFD parses the name of a socket passed by the service manager; see FileDescriptorName= in systemd.socket(5).
func parseFD(prefix, name string) (Address, error) {
	switch {
	case name == "":
		return Address{}, fmt.Errorf("no name: write %sNAME, with the name from FileDescriptorName=", prefix)
	case len(name) > 255 || strings.IndexFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ':' }) >= 0:
		return Address{}, fmt.Errorf("%s is not the name of a socket: use at most 255 ASCII characters without ':'",
			quote(name))
	}
	return Address{FD: name, UDP: prefix == schemeFDUDP}, nil
}

// splitHint turns an error of net.SplitHostPort into advice on what to write.
func splitHint(prefix, rest string, err error) error {
	if ip, e := netip.ParseAddr(rest); e == nil && ip.Is6() {
		return fmt.Errorf("no port: an IPv6 address is written in brackets, as in %s[%s]:8080", prefix, ip)
	}
	if strings.ContainsAny(rest, "/?#") {
		return errors.New("nothing may follow the port")
	}
	var split *net.AddrError
	if errors.As(err, &split) && split.Err == "missing port in address" {
		return fmt.Errorf("no port: write %s%s:PORT", prefix, clip(rest))
	}
	return fmt.Errorf("not an address: write %sHOST:PORT, with an IPv6 host in brackets", prefix)
}

// parsePorts parses a port, or a range FIRST-LAST.
func parsePorts(text string) (first, last uint16, err error) {
	from, to, found := strings.Cut(text, "-")
	if !found || from == "" {
		first, err = parsePort(text)
		return first, 0, err
	}
	if first, err = parsePort(from); err == nil {
		last, err = parsePort(to)
	}
	switch {
	case err != nil:
		return 0, 0, err
	case first == 0:
		return 0, 0, errors.New("a range of ports starts at 1 or above")
	case last < first:
		return 0, 0, fmt.Errorf("the range of ports is reversed: write %d-%d", last, first)
	case last-first >= maxRange:
		return 0, 0, fmt.Errorf("a range is limited to %d ports, and this one has %d", maxRange, int(last)-int(first)+1)
	case last == first:
		last = 0
	}
	return first, last, nil
}

func parsePort(text string) (uint16, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	switch {
	case err == nil:
		return uint16(port), nil
	case text == "":
		return 0, errors.New("no port after the colon")
	case strings.ContainsAny(text, "/?#"):
		return 0, errors.New("nothing may follow the port")
	default:
		return 0, fmt.Errorf("port %s is not a number from 0 to 65535", quote(text))
	}
}

func parseHost(host string, bracketed bool) (string, error) {
	ip, err := netip.ParseAddr(host)
	switch {
	case err == nil:
		return ip.Unmap().String(), nil
	case bracketed:
		return "", fmt.Errorf("%s is not an IPv6 address", quote(host))
	case strings.Trim(host, "0123456789.") == "":
		return "", fmt.Errorf("%s is not an IPv4 address", quote(host))
	case !isHostName(host):
		return "", fmt.Errorf("%s is neither an IP address nor a host name", quote(host))
	}
	return strings.ToLower(host), nil
}

// isHostName follows RFC 1123, section 2.1, and also allows the underscore of service names.
func isHostName(host string) bool {
	host = strings.TrimSuffix(host, ".")
	if len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.IndexFunc(label, func(r rune) bool { return !isNameRune(r) || r == '.' }) >= 0 {
			return false
		}
	}
	return true
}

// isNameRune reports whether host names, and the names of listeners and backends, may contain r.
func isNameRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.'
}

// IsZero reports whether a is the zero Address.
func (a Address) IsZero() bool { return a == Address{} }

// Network returns the network of a. A stream socket of the service manager reports TCP, since only the socket
// itself knows its family.
func (a Address) Network() Network {
	switch {
	case a.UDP:
		return UDPNetwork
	case a.Path != "":
		return UnixNetwork
	}
	return TCPNetwork
}

// HostPort returns the host and the port or range in the form of package net. It is meaningful only with a Host.
func (a Address) HostPort() string {
	ports := strconv.Itoa(int(a.Port))
	if a.Last != 0 {
		ports += "-" + strconv.Itoa(int(a.Last))
	}
	return net.JoinHostPort(a.Host, ports)
}

// ServerName returns the default name of a server at a: its HOST:PORT, or the address of its unix socket.
func (a Address) ServerName() string {
	if a.Path != "" {
		return a.String()
	}
	return a.HostPort()
}

// Ports expands a range into one address for each port. A single address yields itself.
func (a Address) Ports() []Address {
	if a.Last == 0 {
		return []Address{a}
	}
	all := make([]Address, 0, int(a.Last-a.Port)+1)
	for port := int(a.Port); port <= int(a.Last); port++ {
		one := a
		one.Port, one.Last = uint16(port), 0
		all = append(all, one)
	}
	return all
}

// String formats the address so that [ParseAddress] reads it back. The zero Address is "".
func (a Address) String() string {
	switch {
	case a.IsZero():
		return ""
	case a.FD != "" && a.UDP:
		return schemeFDUDP + a.FD
	case a.FD != "":
		return schemeFD + a.FD
	case a.Path != "":
		return schemeUnix + a.Path
	case a.UDP:
		return schemeUDP + a.HostPort()
	}
	return scheme + a.HostPort()
}

// UnmarshalText parses an address like [ParseAddress].
func (a *Address) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAddress(string(text))
	return err
}
