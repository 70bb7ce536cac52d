package proxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// StickyRecord is the servers that clients stay at, for the next process: about 8 bytes for an IPv4 client and 20 for
// one of IPv6, so that a record of a million clients takes 8 to 20 MB. Fields are only ever added.
type StickyRecord []StickyBackend

// StickyBackend is the clients of a backend.
type StickyBackend struct {
	Backend string            `json:"backend"`
	Servers []serveraddr.Addr `json:"servers"`
	// Clients has for each client its server's index in Servers and the seconds since its last connection, as varints,
	// and the first address of its prefix, of 4 or 16 bytes, after their number.
	Clients []byte `json:"clients"`
}

// maxStickyRecord limits the bytes of the clients of a record. Those that it has no room for get a new server.
const maxStickyRecord = 24 << 20

// PackSticky returns a record of sources, and how many of them had no room.
func PackSticky(all []StickySource) (r StickyRecord, left int) {
	return packSticky(all, maxStickyRecord)
}

func packSticky(all []StickySource, most int) (r StickyRecord, left int) {
	type server struct {
		backend int
		address serveraddr.Addr
	}
	backends, servers := map[string]int{}, map[server]int{}
	size := 0
	for i := range all {
		s := &all[i]
		of, known := backends[s.Backend]
		if !known {
			of = len(r)
			backends[s.Backend] = of
			r = append(r, StickyBackend{Backend: s.Backend})
		}
		b := &r[of]
		before := len(b.Clients)
		if size+2*binary.MaxVarintLen64+17 > most {
			return r, len(all) - i
		}
		key := server{of, s.Server}
		index, known := servers[key]
		if !known {
			index = len(b.Servers)
			servers[key] = index
			b.Servers = append(b.Servers, s.Server)
		}
		b.Clients = binary.AppendUvarint(b.Clients, uint64(index))
		b.Clients = binary.AppendUvarint(b.Clients, uint64(max(s.Unused, 0)))
		address := s.Source.AsSlice()
		b.Clients = append(append(b.Clients, byte(len(address))), address...)
		size += len(b.Clients) - before
	}
	return r, 0
}

var errStickyRecord = errors.New("the record of sticky sources is damaged")

// Unpack returns the sources of a record. If it is damaged, it returns those in front of the fault, too.
func (r StickyRecord) Unpack() (all []StickySource, err error) {
	for i := range r {
		b := &r[i]
		for rest := b.Clients; len(rest) > 0; {
			index, n := binary.Uvarint(rest)
			if n <= 0 || index >= uint64(len(b.Servers)) {
				return all, fmt.Errorf("%w: backend %s: no such server", errStickyRecord, b.Backend)
			}
			rest = rest[n:]
			unused, n := binary.Uvarint(rest)
			if n <= 0 || unused > 1<<32 || len(rest) <= n {
				return all, fmt.Errorf("%w: backend %s: no time", errStickyRecord, b.Backend)
			}
			size := int(rest[n])
			rest = rest[n+1:]
			address, ok := netip.AddrFromSlice(rest[:min(size, len(rest))])
			if !ok {
				return all, fmt.Errorf("%w: backend %s: no address", errStickyRecord, b.Backend)
			}
			rest = rest[size:]
			all = append(all, StickySource{b.Backend, address, b.Servers[index], int64(unused)})
		}
	}
	return all, nil
}
