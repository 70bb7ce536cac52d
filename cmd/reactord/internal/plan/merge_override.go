package plan

import (
	"cmp"
	"slices"
)

// collectAdded finds the servers that operators have added.
func (m *merger) collectAdded() {
	for key, o := range m.parts.Overrides {
		if o.Added == nil {
			continue
		}
		if m.added == nil {
			m.added = map[string][]ServerKey{}
		}
		m.added[key.Backend] = append(m.added[key.Backend], key)
	}
	for _, keys := range m.added { // the order decides who gets a name
		slices.SortFunc(keys, func(a, b ServerKey) int { return a.Address.Compare(b.Address) })
	}
}

// override lays what operators have set over the servers of a backend.
func (b *backendMerger) override(backend string) {
	overrides := b.parts.Overrides
	b.servers = slices.DeleteFunc(b.servers, func(s Server) bool {
		if !overrides[ServerKey{backend, s.Address}].Removed {
			return false
		}
		delete(b.byName, s.Name)
		return true
	})
	for _, key := range b.added[backend] {
		b.addByHand(key, overrides[key])
	}
	for i := range b.servers {
		s := &b.servers[i]
		b.drains.apply(backend, s)
		if o, ok := overrides[ServerKey{backend, s.Address}]; ok {
			o.apply(s)
		}
	}
}

// addByHand adds a server that an operator has added, unless a source has it. A source may have taken its name since:
// then its address is its name. It never makes a plan fail that would do without it.
func (b *backendMerger) addByHand(key ServerKey, o Override) {
	if _, known := b.byKey[key.Address]; known || len(b.servers) >= MaxServers {
		return
	}
	s := o.Added.server(key.Address, o.By)
	if s.ByHand, s.Name = true, cmp.Or(s.Name, key.Address.String()); b.hasName(s.Name) {
		s.Name = key.Address.String()
	}
	if !b.hasName(s.Name) {
		b.add(s)
	}
}

func (b *backendMerger) hasName(name string) bool {
	_, has := b.byName[name]
	return has
}
