package plan

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// OwnAddress is an address on which the daemon serves its own status or administration.
type OwnAddress struct {
	Name string // for people
	At   netip.AddrPort
}

// ownServers refuses servers that are the daemon itself: through one, clients of a listener would reach the admin API
// or the metrics with the rights of a local process.
func (m *merger) ownServers() {
	own := m.ownAddresses()
	if len(own) == 0 {
		return
	}
	var local localAddresses
	for i := range m.plan.Backends {
		b := &m.plan.Backends[i]
		if m.unchanged != nil && m.unchanged(b.Name()) {
			continue
		}
		for j := range b.Servers {
			s := &b.Servers[j]
			for _, a := range own[socketNameOf(s.Address)] {
				if s.Address.IsUnix() || local.reaches(s.Address.IP(), a.At.Addr(), false) {
					m.refuseOwn(b.Name(), s, &a)
					break
				}
			}
		}
	}
}

// refuseOwn adds the problem of a server that is the daemon itself.
func (m *merger) refuseOwn(backend string, s *Server, a *ownAddress) {
	text := fmt.Sprintf("is %s of this process: its clients would have the rights of this machine", a.Name)
	if path, written := m.fileServer(backend, s); path != "" {
		m.addProblem(path, a.path, "server", "%q %s", written, text)
		return
	}
	m.refuseFound(backend, &ServerError{s.Origin, fmt.Sprintf("%s %s", s.Address, text)})
}

// ownAddress is an [OwnAddress] with the path of its setting, which is "" without a setting.
type ownAddress struct {
	OwnAddress
	path string
}

// ownAddresses returns the addresses of the process itself. For 0.0.0.0, net.Listen listens on both families, too.
func (m *merger) ownAddresses() map[socketName][]ownAddress {
	all := map[socketName][]ownAddress{}
	add := func(name, path string, at netip.AddrPort) {
		ip := at.Addr().Unmap()
		if ip.IsUnspecified() {
			ip = netip.IPv6Unspecified()
		}
		if at.Port() != 0 && ip.IsValid() {
			one := ownAddress{OwnAddress{name, netip.AddrPortFrom(ip, at.Port())}, path}
			key := socketName{port: at.Port()}
			all[key] = append(all[key], one)
		}
	}
	c := m.file.Config
	if at := c.Metrics.Address; !at.IsZero() {
		add("the address of the metrics", "metrics.address", m.file.Address(at))
	}
	for _, one := range []struct{ setting, address string }{
		{"admin.address", c.Admin.Address}, {"admin.page.address", c.Admin.Page.Address},
	} {
		rest, ok := strings.CutPrefix(one.address, "tcp://")
		if at, err := config.ParseAddress(rest); ok && err == nil {
			ip, err := netip.ParseAddr(at.Host)
			if err != nil { // it is localhost
				ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
			}
			add("the admin API", one.setting, netip.AddrPortFrom(ip, at.Port))
		}
	}
	if path, ok := strings.CutPrefix(c.Admin.Address, "unix://"); ok {
		all[socketName{path: path}] = []ownAddress{{OwnAddress{Name: "the admin API"}, "admin.address"}}
	}
	for _, a := range m.file.Own {
		add(a.Name, "", a.At)
	}
	if m.parts.Control != nil {
		for _, at := range m.parts.Control.Ready {
			add("a listener for readiness", "", at)
		}
	}
	return all
}
