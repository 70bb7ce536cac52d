package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// FileMode is the permissions of a file.
type FileMode uint32

// ParseFileMode reads permissions in octal, as in "0600", "0o600" or "600".
func ParseFileMode(text string) (FileMode, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "0o"), 8, 32)
	if err != nil || n > 0o777 {
		return 0, fmt.Errorf("%s is not permissions: write them in octal, from 0000 to 0777, as in 0600", quote(text))
	}
	return FileMode(n), nil
}

// String is the mode in the form of [ParseFileMode].
func (m FileMode) String() string { return fmt.Sprintf("%04o", uint32(m)) }

// UnmarshalText does the same as [ParseFileMode].
func (m *FileMode) UnmarshalText(text []byte) (err error) {
	*m, err = ParseFileMode(string(text))
	return err
}

// ServicePort is the name or the number of a port.
type ServicePort string

// UnmarshalText reads a name as Kubernetes has them, or a number from 1 to 65535.
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

// Number is the port, or 0 if it is a name.
func (p ServicePort) Number() uint16 {
	n, err := strconv.ParseUint(string(p), 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}

// String is the name or the number.
func (p ServicePort) String() string { return string(p) }

// Prefix is a network: addresses that begin with the same bits.
type Prefix struct{ netip.Prefix }

// ParsePrefix reads a network, as in "10.0.0.0/8", or an address, which is a network of its own.
func ParsePrefix(text string) (Prefix, error) {
	if ip, err := netip.ParseAddr(text); err == nil {
		return Prefix{netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen())}, nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return Prefix{}, fmt.Errorf("%s is not a network: write it as in 10.0.0.0/8 or 2001:db8::/32", quote(text))
	}
	if masked := p.Masked(); masked != p {
		return Prefix{}, fmt.Errorf("%s has bits beyond its length: write %s", quote(text), masked)
	}
	return Prefix{p}, nil
}

// UnmarshalText does the same as [ParsePrefix].
func (p *Prefix) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePrefix(string(text))
	return err
}

// Equal reports whether both are the same network.
func (p Prefix) Equal(other Prefix) bool { return p == other }

// IP is an IP address.
type IP struct{ netip.Addr }

// UnmarshalText reads an address of either family. An IPv4 address may be written as an IPv6 one.
func (ip *IP) UnmarshalText(text []byte) error {
	a, err := netip.ParseAddr(string(text))
	if err != nil {
		return fmt.Errorf("%s is not an IP address: write an address of this machine, not a name and no port",
			quote(string(text)))
	}
	ip.Addr = a.Unmap()
	return nil
}

// Equal reports whether both are the same address.
func (ip IP) Equal(other IP) bool { return ip == other }
