package config

import "net/netip"

// FileMode is the permissions of a file.
type FileMode uint32

// IP is an IP address.
type IP struct{ netip.Addr }
