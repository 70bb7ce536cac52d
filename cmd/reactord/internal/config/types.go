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

// IP is an IP address.
type IP struct{ netip.Addr }

// Equal reports whether both are the same address.
func (ip IP) Equal(other IP) bool { return ip == other }
