package admin

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
)

// maxPath limits the path of a unix socket. The kernel allows 107 bytes; a socket is created under a slightly longer
// name.
const maxPath = 100

// ParseAddress parses the address of the admin API, "unix:///PATH" or "tcp://HOST:PORT", into the form of package
// net.
func ParseAddress(text string) (network, address string, err error) {
	if path, ok := strings.CutPrefix(text, "unix://"); ok {
		switch {
		case !filepath.IsAbs(path):
			return "", "", fmt.Errorf("%q: not an absolute path: write unix:///run/reactord/admin.sock", clip(text))
		case len(path) > maxPath:
			return "", "", fmt.Errorf("%q: the path has %d bytes, more than %d", clip(text), len(path), maxPath)
		case filepath.Clean(path) != path:
			return "", "", fmt.Errorf("%q: write unix://%s", clip(text), filepath.Clean(path))
		}
		return "unix", path, nil
	}
	rest, ok := strings.CutPrefix(text, "tcp://")
	if !ok {
		return "", "", fmt.Errorf("%q: write unix:///PATH or tcp://127.0.0.1:PORT", clip(text))
	}
	host, port, err := net.SplitHostPort(rest)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", "", fmt.Errorf("%q: write tcp://127.0.0.1:PORT or tcp://[::1]:PORT", clip(text))
	}
	if host == "localhost" {
		host = "127.0.0.1" // regardless of the resolver
	}
	return "tcp", net.JoinHostPort(host, port), nil
}

// isLoopbackAddress reports whether only this machine can reach an address in the form of package net.
func isLoopbackAddress(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && isLoopback(host)
}

var errNotLoopback = errors.New("without TLS and passwords, the address must be a loopback address, as " +
	"tcp://127.0.0.1:PORT; from other machines, reach it through ssh, or write web_config_file, too")
