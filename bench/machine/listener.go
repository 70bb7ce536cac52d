package machine

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Listeners returns the processes of this machine that hold the socket which listens at addr, or for "unix" at path. It
// finds only processes whose descriptors this process may read. network is tcp, udp or unix. See proc(5), /proc/net/tcp
// and /proc/PID/fd.
func Listeners(network string, addr netip.AddrPort, path string) (pids []int) {
	inodes := map[string]bool{}
	switch network {
	case "unix":
		unixInodes(path, inodes)
	default:
		for _, file := range []string{network, network + "6"} {
			ipInodes("/proc/net/"+file, network == "tcp", addr, inodes)
		}
	}
	if len(inodes) == 0 {
		return nil
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return nil
	}
	for _, link := range links {
		to, err := os.Readlink(link)
		if err != nil || !inodes[strings.TrimSuffix(strings.TrimPrefix(to, "socket:["), "]")] {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(link, "/")[2])
		if err == nil && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// ipInodes finds the sockets that receive what is sent to addr.
func ipInodes(file string, listening bool, addr netip.AddrPort, inodes map[string]bool) {
	eachLine(file, func(field []string) {
		const listen = "0A" // TCP_LISTEN
		if len(field) < 10 || listening && field[3] != listen {
			return
		}
		local, err := parseAddress(field[1])
		if err != nil || local.Port() != addr.Port() {
			return
		}
		if remote, err := parseAddress(field[2]); err != nil || remote.Port() != 0 {
			return
		}
		if a := local.Addr().Unmap(); a == addr.Addr() || a.IsUnspecified() && (a.Is6() || addr.Addr().Is4()) {
			inodes[field[9]] = true
		}
	})
}

// unixInodes finds the sockets bound to path.
func unixInodes(path string, inodes map[string]bool) {
	eachLine("/proc/net/unix", func(field []string) {
		if len(field) == 8 && field[7] == path {
			inodes[field[6]] = true
		}
	})
}

// eachLine calls f with the fields of each line except the first.
func eachLine(file string, f func(field []string)) {
	in, err := os.Open(filepath.Clean(file))
	if err != nil {
		return
	}
	defer in.Close()
	lines := bufio.NewScanner(in)
	for lines.Scan(); lines.Scan(); {
		f(strings.Fields(lines.Text()))
	}
}

var errAddress = errors.New("not an address of /proc/net")

// parseAddress parses 0100007F:1F90: words in the byte order of the machine, in hexadecimal, and the port.
func parseAddress(text string) (netip.AddrPort, error) {
	host, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	if err != nil || len(raw) != 4 && len(raw) != 16 {
		return netip.AddrPort{}, errAddress
	}
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return netip.AddrPort{}, errAddress
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	a, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(a, uint16(n)), nil
}
