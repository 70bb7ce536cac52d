package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Address is a TCP address: a host, which is an IP address or a name, and a port. Or it is a socket that the service
// manager has opened. The zero Address is no address.
type Address struct {
	Host string // an IP address in its canonical form (without brackets), or a name in lower case
	Port uint16
	FD   string // the name of a socket of the service manager, instead of Host and Port
}

// The schemes of addresses.
const (
	scheme   = "tcp://"
	schemeFD = "fd://"
)

// ParseAddress reads "tcp://HOST:PORT" or "fd://NAME". An IPv6 host is in brackets. "tcp://" is optional.
func ParseAddress(text string) (Address, error) {
	if name, ok := strings.CutPrefix(text, schemeFD); ok {
		return parseFD(name)
	}
	rest, found := strings.CutPrefix(text, scheme)
	if before, after, other := strings.Cut(text, "://"); other && !found {
		return Address{}, fmt.Errorf("scheme %s is unknown: write %s%s", quote(before), scheme, clip(after))
	}
	if _, err := parsePort(rest); err == nil { // a port only
		rest = ":" + rest
	}
	host, port, err := net.SplitHostPort(rest)
	if err != nil {
		return Address{}, splitHint(rest, err)
	}
	if host == "" {
		return Address{}, fmt.Errorf("no host: write %s127.0.0.1:%s for this machine only, "+
			"or %[1]s[::]:%[2]s for every address", scheme, clip(port))
	}
	a := Address{}
	if a.Port, err = parsePort(port); err != nil {
		return Address{}, err
	}
	if a.Host, err = parseHost(host, strings.HasPrefix(rest, "[")); err != nil {
		return Address{}, err
	}
	return a, nil
}

// parseFD reads the name of a socket; see FileDescriptorName= in systemd.socket(5).
func parseFD(name string) (Address, error) {
	switch {
	case name == "":
		return Address{}, fmt.Errorf("no name: write %sNAME, with the name of FileDescriptorName=", schemeFD)
	case len(name) > 255 || strings.IndexFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == ':' }) >= 0:
		return Address{}, fmt.Errorf("%s is not the name of a socket: use at most 255 ASCII characters without ':'",
			quote(name))
	}
	return Address{FD: name}, nil
}

// splitHint is the error of SplitHostPort with advice what to write.
func splitHint(rest string, err error) error {
	if ip, e := netip.ParseAddr(rest); e == nil && ip.Is6() {
		return fmt.Errorf("no port: an IPv6 address is written in brackets, as in %s[%s]:8080", scheme, ip)
	}
	if strings.ContainsAny(rest, "/?#") {
		return errors.New("nothing may follow the port")
	}
	var split *net.AddrError
	if errors.As(err, &split) && split.Err == "missing port in address" {
		return fmt.Errorf("no port: write %s%s:PORT", scheme, clip(rest))
	}
	return fmt.Errorf("not an address: write %sHOST:PORT, with an IPv6 host in brackets", scheme)
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

// isHostName follows RFC 1123, section 2.1, and allows the underscore that service names carry.
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

// HostPort is the address in the form of package net. A socket of the service manager has none.
func (a Address) HostPort() string { return net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port))) }

// String is the address in the form of [ParseAddress]. For the zero Address it is empty.
func (a Address) String() string {
	switch {
	case a.IsZero():
		return ""
	case a.FD != "":
		return schemeFD + a.FD
	}
	return scheme + a.HostPort()
}

// UnmarshalText does the same as [ParseAddress].
func (a *Address) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAddress(string(text))
	return err
}
