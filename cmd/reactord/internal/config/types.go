package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// FileMode holds the permissions of a file.
type FileMode uint32

// ParseFileMode parses permissions in octal, as in "0600", "0o600" or "600".
func ParseFileMode(text string) (FileMode, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "0o"), 8, 32)
	if err != nil || n > 0o777 {
		return 0, fmt.Errorf("%s is not a file mode: write permissions in octal, from 0000 to 0777, as in 0600", quote(text))
	}
	return FileMode(n), nil
}

// String formats the mode in octal, as in "0600".
func (m FileMode) String() string { return fmt.Sprintf("%04o", uint32(m)) }

// UnmarshalText parses permissions like [ParseFileMode].
func (m *FileMode) UnmarshalText(text []byte) (err error) {
	*m, err = ParseFileMode(string(text))
	return err
}

// ServicePort is the name or number of a port.
type ServicePort string

// UnmarshalText parses a name of a Kubernetes port, or a number from 1 to 65535.
func (p *ServicePort) UnmarshalText(text []byte) error {
	s := string(text)
	if _, err := strconv.Atoi(s); err == nil || s == "" {
		if n := ServicePort(s).Number(); s != "" && n == 0 {
			return fmt.Errorf("%s is not a port: write 1 to 65535", quote(s))
		}
	} else if !isLabel(s) {
		return fmt.Errorf("%s is not a port: write its name as in http, or its number", quote(s))
	}
	*p = ServicePort(s)
	return nil
}

// Number returns the port number, or 0 for a name.
func (p ServicePort) Number() uint16 {
	n, err := strconv.ParseUint(string(p), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}

// String returns the name or number.
func (p ServicePort) String() string { return string(p) }

// Prefix is a network in CIDR form, or a live set of networks.
type Prefix struct {
	netip.Prefix
	// Set is the name of a [Set], instead of a network.
	Set string
}

// ParsePrefix parses a network, as in "10.0.0.0/8", a single address, or "set=NAME".
func ParsePrefix(text string) (Prefix, error) {
	if set, is := strings.CutPrefix(text, setPrefix); is {
		if wrong := isName(set); wrong != "" || set == "" {
			return Prefix{}, fmt.Errorf("%s is not a set: write set= and its name, as in set=blocked", quote(text))
		}
		return Prefix{Set: set}, nil
	}
	if ip, err := netip.ParseAddr(text); err == nil {
		return Prefix{Prefix: netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen())}, nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return Prefix{}, fmt.Errorf("%s is not a network: write it as in 10.0.0.0/8 or 2001:db8::/32", quote(text))
	}
	if masked := p.Masked(); masked != p {
		return Prefix{}, fmt.Errorf("%s has bits beyond its length: write %s", quote(text), masked)
	}
	return Prefix{Prefix: p}, nil
}

// UnmarshalText parses a network like [ParsePrefix].
func (p *Prefix) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePrefix(string(text))
	return err
}

// String returns the network, or "set=NAME".
func (p Prefix) String() string {
	if p.Set != "" {
		return setPrefix + p.Set
	}
	return p.Prefix.String()
}

// MarshalText returns the text of String.
func (p Prefix) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Equal reports whether the networks are the same.
func (p Prefix) Equal(other Prefix) bool { return p == other }

// IP is an IP address.
type IP struct{ netip.Addr }

// UnmarshalText parses an IP address. An IPv4-mapped IPv6 address becomes IPv4.
func (ip *IP) UnmarshalText(text []byte) error {
	a, err := netip.ParseAddr(string(text))
	if err != nil {
		return fmt.Errorf("%s is not an IP address: write an address of this machine, without a name or port",
			quote(string(text)))
	}
	ip.Addr = a.Unmap()
	return nil
}

// Equal reports whether the addresses are the same.
func (ip IP) Equal(other IP) bool { return ip == other }
