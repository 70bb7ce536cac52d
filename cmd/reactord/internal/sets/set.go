package sets

import (
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/sets/list"
)

// Set is a live set. It is the same object for a name as long as a configuration has that. It begins without contents.
type Set struct {
	name     string
	contents atomic.Pointer[contents]
}

// contents is the parts of a set. They do not change.
type contents []part

// part is what a set has from one source.
type part struct {
	origin string // for people
	list   *list.List
}

// Name returns the name of the set.
func (s *Set) Name() string { return s.name }

// Contains reports whether an address is in a network of the set.
func (s *Set) Contains(ip netip.Addr) bool {
	if c := s.contents.Load(); c != nil {
		for i := range *c {
			if (*c)[i].list.Networks.Contains(ip) {
				return true
			}
		}
	}
	return false
}

// ContainsName reports whether a server name in lower case is in the set.
func (s *Set) ContainsName(name string) bool {
	if c := s.contents.Load(); c != nil {
		for i := range *c {
			if (*c)[i].list.Names.Contains(name) {
				return true
			}
		}
	}
	return false
}

// Match is why an address or a name is in a set.
type Match struct {
	Set    string
	Entry  string // the network, or the name or wildcard
	Origin string // the source of the entry, for people
}

// Match returns the first entry that contains an address.
func (s *Set) Match(ip netip.Addr) (m Match, in bool) {
	if c := s.contents.Load(); c != nil {
		for _, p := range *c {
			if network, in := p.list.Networks.Match(ip); in {
				return Match{s.name, network.String(), p.origin}, true
			}
		}
	}
	return Match{}, false
}

// MatchName returns the first entry that a server name in lower case is in the set by.
func (s *Set) MatchName(name string) (m Match, in bool) {
	if c := s.contents.Load(); c != nil {
		for _, p := range *c {
			if entry, in := p.list.Names.Match(name); in {
				return Match{s.name, entry, p.origin}, true
			}
		}
	}
	return Match{}, false
}

// Directory has sets by name.
type Directory struct {
	mu   sync.Mutex
	sets map[string]*Set
}

// Set returns the set of a name. If there is none yet, it makes an empty one. A nil Directory only has empty sets.
func (d *Directory) Set(name string) *Set {
	if d == nil {
		return &Set{name: name}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sets[name]
	if s == nil {
		if d.sets == nil {
			d.sets = map[string]*Set{}
		}
		s = &Set{name: name}
		d.sets[name] = s
	}
	return s
}

// forget forgets a set that no configuration has. Who still has it may go on to use it.
func (d *Directory) forget(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.sets, name)
}

// NewDirectory returns a directory of the sets of a configuration with their entries, and what is in their files.
func NewDirectory(all []config.Set, files map[list.Key]*list.List) *Directory {
	d := &Directory{}
	for i := range all {
		c := contentsOf(&all[i], files)
		d.Set(all[i].Name).contents.Store(&c)
	}
	return d
}

// contentsOf returns the parts of a set that are known without asking anybody.
func contentsOf(s *config.Set, files map[list.Key]*list.List) (c contents) {
	if p := entriesOf(s); p.list.Entries != 0 {
		c = append(c, p)
	}
	for _, f := range s.Files {
		if l := files[list.Key{Set: s.Name, Path: f.Path}]; l != nil {
			c = append(c, part{fileOrigin(f.Path), l})
		}
	}
	return c
}

// entriesOf returns the part of a set that is written in the configuration.
func entriesOf(s *config.Set) part { return part{"the configuration", list.Of(s.Type, s.Entries)} }
