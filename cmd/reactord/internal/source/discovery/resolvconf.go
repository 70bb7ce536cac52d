package discovery

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/source/fetch"
)

// resolvConf lists the system's DNS servers; see resolv.conf(5).
const resolvConf = "/etc/resolv.conf"

// maxResolvConf limits its size in bytes, and maxResolvers the DNS servers: the C library uses 3.
const (
	maxResolvConf = 64 << 10
	maxResolvers  = 8
)

// system reads the system's DNS servers, again when the file has changed.
type system struct {
	path string

	mu      sync.Mutex
	changed time.Time // modification time of the file when read
	size    int64
	servers []string
}

// list returns the DNS servers as HOST:PORT.
func (s *system) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Stat(s.path)
	switch {
	case err != nil:
		if s.servers == nil {
			s.servers = parseResolvConf(nil)
		}
	case s.servers == nil, !info.ModTime().Equal(s.changed), info.Size() != s.size:
		if data, err := readBounded(s.path, maxResolvConf); err == nil {
			s.servers = parseResolvConf(data)
			s.changed, s.size = info.ModTime(), info.Size()
		}
	}
	return s.servers
}

// parseResolvConf finds the lines "nameserver ADDRESS". Without any, the server is this machine.
func parseResolvConf(data []byte) (servers []string) {
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "nameserver" || len(servers) == maxResolvers {
			continue
		}
		if ip, err := netip.ParseAddr(words[1]); err == nil {
			servers = append(servers, netip.AddrPortFrom(ip, 53).String())
		}
	}
	if servers == nil {
		servers = []string{"127.0.0.1:53", "[::1]:53"}
	}
	return servers
}

// readBounded reads a file, or fails if it exceeds most bytes.
func readBounded(path string, most int64) ([]byte, error) {
	data, err := fetch.ReadFile(path, most)
	return data, sizeError(err, most)
}

func boundedAll(r io.Reader, most int64) ([]byte, error) {
	data, err := fetch.ReadAll(r, most)
	return data, sizeError(err, most)
}

// sizeError gives the error of a text that is too large a place.
func sizeError(err error, most int64) error {
	if errors.Is(err, fetch.ErrTooLarge) {
		return &contentError{line: 1, column: 1, text: "larger than " + sizeText(most)}
	}
	return err
}
