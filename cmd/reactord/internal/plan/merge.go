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

// MaxServers limits the servers of a backend.
const MaxServers = 1 << 16

const (
	maxWeight   = 1000
	maxName     = 255
	maxProblems = 1000 // of discovered servers; more do not help to find the fault
)

// Merge merges the parts into a plan without a revision. The error joins everything that is wrong, each with its place.
//
// If several sources have a server, the first one wins: the file, then the sources of the backend in the order of
// [Sources], then what operators have added. A backend with discovery may have no servers. Sources that the file does
// not have are ignored, and so are overrides of servers that do not exist.
func Merge(parts Parts) (*Plan, error) { return MergeFrom(nil, &parts, nil) }

// MergeFrom merges like [Merge], and shares what is equal with the plan before: equal settings are the same pointer.
// It reuses the backends of before for which unchanged returns true; their listeners and settings must be those of
// parts. If unchanged is nil, all are merged. parts caches its merged file and control plane.
func MergeFrom(before *Plan, parts *Parts, unchanged func(backend string) bool) (*Plan, error) {
	w, err := parts.mergeFile()
	if err != nil {
		return nil, err
	}
	m := merger{
		parts: parts, merged: w, file: &w.File, before: before, unchanged: unchanged, drains: sortDrainRules(parts.Drains),
	}
	m.collectAdded()
	c := m.file.Config
	m.plan = &Plan{Limits: c.Limits, Drain: c.Drain, Upgrade: c.Upgrade, AccessLog: c.AccessLog}
	m.listeners()
	for i := range c.Backends {
		m.backend(i)
	}
	all := m.plan.Backends
	slices.SortFunc(all, func(x, y Backend) int { return cmp.Compare(x.Name(), y.Name()) })
	if err := m.joinErrors(); err != nil {
		return nil, err
	}
	m.ownServers()
	m.selfProxying()
	m.datagramServers()
	if err := m.joinErrors(); err != nil {
		return nil, err
	}
	return m.plan, nil
}

// merger is the state of a merge.
type merger struct {
	parts      *Parts
	merged     *mergedFile
	file       *File // of merged
	before     *Plan // may be nil
	unchanged  func(backend string) bool
	plan       *Plan
	drains     drainRules
	added      map[string][]ServerKey              // servers that operators have added, by backend
	keysBefore map[[sha256.Size]byte]*certs.Server // of the plan before, by fingerprint; nil until needed
	problems   []config.Problem                    // of the file
	errs       []error                             // of discovered servers
}

func (m *merger) joinErrors() error {
	errs := m.errs
	if len(errs) > maxProblems {
		errs = append(errs[:maxProblems:maxProblems], fmt.Errorf("and %d more", len(errs)-maxProblems))
	}
	if len(m.problems) > 0 {
		errs = append([]error{m.file.Explain(m.problems)}, errs...)
	}
	return errors.Join(errs...)
}

// addProblem adds a problem of the file. Its text begins with the value of the setting that key names.
func (m *merger) addProblem(path, other, key, format string, args ...any) {
	m.problems = append(m.problems,
		config.Problem{Path: path, Setting: key, Other: other, Text: fmt.Sprintf(format, args...)})
}

// ServerError is the error of a discovered server.
type ServerError struct {
	Origin string // of the server
	Text   string
}

// Error returns "origin: text".
func (e *ServerError) Error() string { return e.Origin + ": " + e.Text }

func (m *merger) listeners() {
	if m.unchanged != nil { // only backends change
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
	all, keys, routes := l.Address.Ports(), m.reuseServerKeys(m.file.Servers[l.Name]), m.routeKeys(l.Name)
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

// reuseServerKeys returns the keys of a listener or route, or the equal ones of the plan before.
func (m *merger) reuseServerKeys(keys *certs.Server) *certs.Server {
	if m.before == nil || keys == nil {
		return keys
	}
	if m.keysBefore == nil {
		m.keysBefore = keysByFingerprint(m.before.Listeners)
	}
	if was := m.keysBefore[keys.Fingerprint()]; was != nil {
		return was
	}
	return keys
}

// keysByFingerprint returns the keys of listeners and their routes.
func keysByFingerprint(all []Listener) map[[sha256.Size]byte]*certs.Server {
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

// routeKeys returns the keys of the routes of a listener, with those of the plan before where they are equal. It
// returns nil if no route has keys.
func (m *merger) routeKeys(name string) (all []*certs.Server) {
	if keys := m.file.RouteServers[name]; slices.ContainsFunc(keys, func(k *certs.Server) bool { return k != nil }) {
		for _, k := range keys {
			all = append(all, m.reuseServerKeys(k))
		}
	}
	return all
}

// reuseClientKeys returns the keys of a backend, or the equal ones of the plan before.
func (m *merger) reuseClientKeys(name string) *certs.Client {
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
	b.addFromFile(c.Servers)
	if b.isControl() {
		b.addDiscovered(m.parts.Control.Servers[c.Name])
	}
	for _, source := range Sources(c) {
		b.addDiscovered(m.parts.Discovered[source])
	}
	b.override(c.Name)
	slices.SortFunc(b.servers, func(x, y Server) int { return x.Address.Compare(y.Address) })
	m.plan.Backends = append(m.plan.Backends, Backend{
		Settings: m.reuseSettings(c), Servers: b.servers, Keys: m.reuseClientKeys(c.Name),
	})
}

// reuseSettings returns the policies of a backend, or the equal ones of the plan before.
func (m *merger) reuseSettings(c *config.Backend) *config.Backend {
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

// isControl reports whether the backend comes from the control plane.
func (b *backendMerger) isControl() bool { return b.index >= len(b.merged.file.Config.Backends) }

// addError adds an error of a discovered server.
func (b *backendMerger) addError(s *Server, format string, args ...any) {
	e := &ServerError{Origin: s.Origin, Text: fmt.Sprintf(format, args...)}
	if b.isControl() {
		b.errs = append(b.errs, &ControlError{Backend: b.file.Config.Backends[b.index].Name, Err: e})
		return
	}
	b.errs = append(b.errs, e)
}

func (b *backendMerger) addFromFile(servers []config.Server) {
	for i := range servers {
		c := &servers[i]
		path := serverPath(b.index, i)
		state, err := ParseState(c.State)
		if err != nil {
			b.addProblem(path+".state", "", "state", "%v", err)
		}
		s := Server{
			Name: cmp.Or(c.Name, c.Address.ServerName()), Address: b.file.ServerAddress(c.Address),
			Host:   hostName(c.Address.Host),
			Weight: c.Weight, Priority: c.Priority, Backup: c.Backup, Locality: c.Locality,
			MaxConnections: c.MaxConnections, Plain: c.Plain, State: state, Origin: b.file.place(path),
		}
		if !c.Check.IsZero() {
			s.Check = &c.Check
		}
		if c.Agent != (config.ServerAgent{}) {
			s.Agent = &c.Agent
		}
		if j, shared := b.byKey[s.Address]; shared {
			// Two names may resolve to the same address for a time, as after a failover in DNS. It keeps one share.
			if s.before(&b.servers[j]) {
				delete(b.byName, b.servers[j].Name)
				b.servers[j], b.byName[s.Name] = s, j
			}
			continue
		}
		if j, twice := b.byName[s.Name]; twice {
			b.addProblem(path, serverPath(b.index, j), "server", "%q is the name of another server of the backend", s.Name)
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

// hostName returns host if it is a name, and "" if it is an IP address.
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

// addDiscovered adds the servers that no earlier source has.
func (b *backendMerger) addDiscovered(servers []Server) {
	for _, s := range servers {
		s.Address = s.Address.Unmap()
		if _, known := b.byKey[s.Address]; known {
			continue
		}
		s.Name = cmp.Or(s.Name, s.Address.String())
		if text := s.problem(); text != "" {
			b.addError(&s, "%s", text)
			continue
		}
		if j, twice := b.byName[s.Name]; twice {
			b.addError(&s, "%q is the name of another server of the backend: see %s", s.Name, b.servers[j].Origin)
			continue
		}
		if len(b.servers) == MaxServers {
			b.addError(&s, "the backend has more than %d servers", MaxServers)
			return
		}
		b.add(s)
	}
}

// problem returns what is wrong with a discovered server by itself, or "".
func (s *Server) problem() string {
	ip := s.Address.IP()
	switch {
	case !s.Address.IsValid():
		return "a server without an address"
	case ip.IsUnspecified() || ip.IsMulticast():
		return fmt.Sprintf("%s is not the address of one machine", ip)
	case s.Address.Port() == 0 && !s.Address.IsUnix():
		return fmt.Sprintf("%s: port 0 cannot be connected to", ip)
	}
	if text := s.settingsProblem(); text != "" {
		return fmt.Sprintf("%s: %s", s.Address, text)
	}
	return ""
}

// settingsProblem returns what is wrong with the settings of a server, address aside, or "".
func (s *Server) settingsProblem() string {
	switch {
	case len(s.Name) > maxName:
		return fmt.Sprintf("a name of more than %d bytes", maxName)
	case len(s.Locality) > maxName:
		return fmt.Sprintf("a locality of more than %d bytes", maxName)
	case s.Weight < 0 || s.Weight > maxWeight:
		return fmt.Sprintf("weight %d is out of range: write 0 to %d", s.Weight, maxWeight)
	case s.Priority < 0:
		return fmt.Sprintf("priority %d is negative", s.Priority)
	case s.MaxConnections < 0:
		return fmt.Sprintf("max_connections %d is negative", s.MaxConnections)
	case int(s.State) >= len(states):
		return fmt.Sprintf("%s is unknown", s.State)
	}
	return ""
}
