package plan

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// MaxServers is how many servers a backend has at most.
const MaxServers = 1 << 16

const (
	maxWeight   = 1000
	maxName     = 255
	maxProblems = 1000 // of discovered servers; more do not help to find the fault
)

// Merge makes a plan of what the sources say, without a revision. The error joins everything that is wrong, each with
// its place.
//
// A server that several sources have is the one of the first of them: the file's, then those of the sources of its
// backend in the order of [Sources]. A backend with discovery may have no servers. Sources that the file does not have
// are ignored, and so are overrides of servers that do not exist.
func Merge(parts Parts) (*Plan, error) { return MergeFrom(nil, &parts, nil) }

// MergeFrom merges like [Merge], and shares with the plan before what is equal: settings that are equal are the same
// pointer. Backends that unchanged reports are taken from before, whose listeners and settings are then those of parts;
// if unchanged is nil, all are merged. What parts has merged of its file and control plane is kept in it.
func MergeFrom(before *Plan, parts *Parts, unchanged func(backend string) bool) (*Plan, error) {
	w, err := parts.whole()
	if err != nil {
		return nil, err
	}
	m := merger{parts: parts, whole: w, file: &w.File, before: before, unchanged: unchanged}
	c := m.file.Config
	m.plan = &Plan{Limits: c.Limits, Drain: c.Drain, Upgrade: c.Upgrade, AccessLog: c.AccessLog}
	m.listeners()
	for i := range c.Backends {
		m.backend(i)
	}
	all := m.plan.Backends
	slices.SortFunc(all, func(x, y Backend) int { return cmp.Compare(x.Name(), y.Name()) })
	if err := m.joined(); err != nil {
		return nil, err
	}
	m.ownServers()
	m.selfProxying()
	m.datagramServers()
	if err := m.joined(); err != nil {
		return nil, err
	}
	return m.plan, nil
}

// merger is the state of a merge.
type merger struct {
	parts     *Parts
	whole     *whole
	file      *File // the whole as a file
	before    *Plan // may be nil
	unchanged func(backend string) bool
	plan      *Plan
	servers   map[[sha256.Size]byte]*certs.Server // keys of the plan before; nil: they were not needed yet
	problems  []config.Problem                    // of the file
	errs      []error                             // of discovered servers
}

func (m *merger) joined() error {
	errs := m.errs
	if len(errs) > maxProblems {
		errs = append(errs[:maxProblems:maxProblems], fmt.Errorf("and %d more", len(errs)-maxProblems))
	}
	if len(m.problems) > 0 {
		errs = append([]error{m.file.Explain(m.problems)}, errs...)
	}
	return errors.Join(errs...)
}

// value adds a problem of the file whose text begins with the value of the setting that key names.
func (m *merger) value(path, other, key, format string, args ...any) {
	m.problems = append(m.problems,
		config.Problem{Path: path, Setting: key, Other: other, Text: fmt.Sprintf(format, args...)})
}

// ServerError is what is wrong with a server that was discovered.
type ServerError struct {
	Origin string // of the server
	Text   string
}

// Error is "origin: text".
func (e *ServerError) Error() string { return e.Origin + ": " + e.Text }

func (m *merger) listeners() {
	if m.unchanged != nil { // they are the same
		m.plan.Listeners = m.before.Listeners
		return
	}
	for _, l := range m.file.Config.Listeners {
		m.listener(l)
	}
	all := m.plan.Listeners
	slices.SortFunc(all, func(x, y Listener) int { return cmp.Compare(x.Name, y.Name) })
	m.overlaps()
}

// listener adds a listener, or one for each of its ports.
func (m *merger) listener(l config.Listener) {
	all, keys, routes := l.Address.Ports(), m.serverKeys(m.file.Servers[l.Name]), m.routeKeys(l.Name)
	for _, a := range all {
		one := Listener{Listener: l, Network: a.Network(), Path: a.Path, FD: a.FD, Keys: keys, RouteKeys: routes}
		one.Address = a
		if a.Host != "" {
			one.Bind = m.file.Address(a)
		}
		if len(all) > 1 {
			one.Name = l.Name + ":" + strconv.Itoa(int(a.Port))
		}
		m.plan.Listeners = append(m.plan.Listeners, one)
	}
}

// serverKeys are keys of a listener or of a route: the ones before, if they are the same.
func (m *merger) serverKeys(keys *certs.Server) *certs.Server {
	if m.before == nil || keys == nil {
		return keys
	}
	if m.servers == nil {
		m.servers = serversOf(m.before.Listeners)
	}
	if was := m.servers[keys.Fingerprint()]; was != nil {
		return was
	}
	return keys
}

// serversOf are the keys of listeners and their routes.
func serversOf(all []Listener) map[[sha256.Size]byte]*certs.Server {
	known := map[[sha256.Size]byte]*certs.Server{}
	for i := range all {
		for _, k := range append([]*certs.Server{all[i].Keys}, all[i].RouteKeys...) {
			if k != nil {
				known[k.Fingerprint()] = k
			}
		}
	}
	return known
}

// routeKeys are the keys of the routes of a listener of the file, likewise; nil: none has some.
func (m *merger) routeKeys(name string) (all []*certs.Server) {
	if keys := m.file.RouteServers[name]; slices.ContainsFunc(keys, func(k *certs.Server) bool { return k != nil }) {
		for _, k := range keys {
			all = append(all, m.serverKeys(k))
		}
	}
	return all
}

// backendKeys are the keys of a backend, likewise.
func (m *merger) backendKeys(name string) *certs.Client {
	keys := m.file.Clients[name]
	if m.before != nil {
		if was := m.before.Backend(name); was != nil && was.Keys.Same(keys) {
			return was.Keys
		}
	}
	return keys
}

// backend merges the backend of this index in the file.
func (m *merger) backend(index int) {
	c := &m.file.Config.Backends[index]
	if m.unchanged != nil && m.unchanged(c.Name) {
		m.plan.Backends = append(m.plan.Backends, *m.before.Backend(c.Name))
		return
	}
	b := &backendMerger{
		merger:  m,
		index:   index,
		byKey:   map[serveraddr.Addr]int{},
		byName:  map[string]int{},
		servers: make([]Server, 0, len(c.Servers)),
	}
	b.fromFile(c.Servers)
	if b.ofControl() {
		b.discovered(m.parts.Control.Servers[c.Name])
	}
	for _, source := range Sources(c) {
		b.discovered(m.parts.Discovered[source])
	}
	for i := range b.servers {
		s := &b.servers[i]
		m.parts.Overrides[ServerKey{c.Name, s.Address}].apply(s)
	}
	slices.SortFunc(b.servers, func(x, y Server) int { return x.Address.Compare(y.Address) })
	m.plan.Backends = append(m.plan.Backends, Backend{
		Settings: m.settings(c), Servers: b.servers, Keys: m.backendKeys(c.Name),
	})
}

// settings is the policies of a backend: the ones before, if they are the same.
func (m *merger) settings(c *config.Backend) *config.Backend {
	policies := *c
	policies.Servers, policies.Discovery = nil, config.Discovery{}
	if m.before != nil {
		if was := m.before.Backend(c.Name); was != nil && sameSettings(was.Settings, &policies) {
			return was.Settings
		}
	}
	return &policies
}

// backendMerger is the state of the merge of a backend.
type backendMerger struct {
	*merger
	index   int // in the file
	servers []Server
	byKey   map[serveraddr.Addr]int // index in servers
	byName  map[string]int
}

// ofControl reports whether the backend is the control plane's.
func (b *backendMerger) ofControl() bool { return b.index >= len(b.whole.file.Config.Backends) }

// wrong adds what is wrong with a server that was found.
func (b *backendMerger) wrong(s *Server, format string, args ...any) {
	e := &ServerError{Origin: s.Origin, Text: fmt.Sprintf(format, args...)}
	if b.ofControl() {
		b.errs = append(b.errs, &ControlError{Backend: b.file.Config.Backends[b.index].Name, Err: e})
		return
	}
	b.errs = append(b.errs, e)
}

func (b *backendMerger) fromFile(servers []config.Server) {
	for i := range servers {
		c := &servers[i]
		path := serverPath(b.index, i)
		state, err := ParseState(c.State)
		if err != nil {
			b.value(path+".state", "", "state", "%v", err)
		}
		s := Server{
			Name: cmp.Or(c.Name, c.Address.ServerName()), Address: b.file.ServerAddress(c.Address),
			Host:   hostName(c.Address.Host),
			Weight: c.Weight, Priority: c.Priority, Backup: c.Backup, Locality: c.Locality,
			MaxConnections: c.MaxConnections, Plain: c.Plain, State: state, Origin: b.file.place(path),
		}
		if j, shared := b.byKey[s.Address]; shared {
			// Names may have one address for a time, as after a failover in DNS. It keeps one share.
			if s.before(&b.servers[j]) {
				delete(b.byName, b.servers[j].Name)
				b.servers[j], b.byName[s.Name] = s, j
			}
			continue
		}
		if j, twice := b.byName[s.Name]; twice {
			b.value(path, serverPath(b.index, j), "server", "%q is the name of another server of the backend", s.Name)
			continue
		}
		b.add(s)
	}
}

// before reports whether s gets connections before other, which has the same address.
func (s *Server) before(other *Server) bool {
	if s.Backup != other.Backup {
		return other.Backup
	}
	return s.Priority < other.Priority
}

// hostName is a host if it is a name, and "" if it is an IP address.
func hostName(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	return host
}

func (b *backendMerger) add(s Server) {
	b.byKey[s.Address], b.byName[s.Name] = len(b.servers), len(b.servers)
	b.servers = append(b.servers, s)
}

// discovered adds servers that no source before has.
func (b *backendMerger) discovered(servers []Server) {
	for _, s := range servers {
		s.Address = s.Address.Unmap()
		if _, known := b.byKey[s.Address]; known {
			continue
		}
		s.Name = cmp.Or(s.Name, s.Address.String())
		if text := s.fault(); text != "" {
			b.wrong(&s, "%s", text)
			continue
		}
		if j, twice := b.byName[s.Name]; twice {
			b.wrong(&s, "%q is the name of another server of the backend: see %s", s.Name, b.servers[j].Origin)
			continue
		}
		if len(b.servers) == MaxServers {
			b.wrong(&s, "the backend has more than %d servers", MaxServers)
			return
		}
		b.add(s)
	}
}

// fault is what is wrong with a discovered server alone, or "".
func (s *Server) fault() string {
	ip := s.Address.IP()
	switch {
	case !s.Address.IsValid():
		return "a server without an address"
	case ip.IsUnspecified() || ip.IsMulticast():
		return fmt.Sprintf("%s is not the address of one machine", ip)
	case s.Address.Port() == 0 && !s.Address.IsUnix():
		return fmt.Sprintf("%s: port 0 cannot be connected to", ip)
	case len(s.Name) > maxName:
		return fmt.Sprintf("%s: a name of more than %d bytes", s.Address, maxName)
	case s.Weight < 0 || s.Weight > maxWeight:
		return fmt.Sprintf("%s: weight %d is out of range: write 0 to %d", s.Address, s.Weight, maxWeight)
	case s.Priority < 0:
		return fmt.Sprintf("%s: priority %d is negative", s.Address, s.Priority)
	case s.MaxConnections < 0:
		return fmt.Sprintf("%s: max_connections %d is negative", s.Address, s.MaxConnections)
	case int(s.State) >= len(states):
		return fmt.Sprintf("%s: %s is unknown", s.Address, s.State)
	}
	return ""
}
