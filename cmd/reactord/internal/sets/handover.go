package sets

import (
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/sets/list"
	"github.com/reactord/reactord/cmd/reactord/internal/sets/nameset"
	"github.com/reactord/reactord/cmd/reactord/internal/sets/netset"
	"go.uber.org/zap"
)

// Record is what a process passes on to the next one. Fields are only ever added.
type Record struct {
	Added  []Added        `json:"added,omitempty"`
	Remote []RemoteRecord `json:"remote,omitempty"`
}

// RemoteRecord is the entries of a URL or of CrowdSec. They are in force until all sources of the set have answered.
type RemoteRecord struct {
	Set      string `json:"set"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Networks []byte `json:"networks,omitempty"` // see [netset.Parse]
	Names    string `json:"names,omitempty"`    // one a line
}

// maxRecord limits the bytes of the entries of a record.
const maxRecord = 12 << 20

// Record returns the record for the next process. What has no room there is named in the log: the next process has it
// when it has asked.
func (m *Manager) Record() (r Record) {
	r.Added, _ = m.Added("") // of all there are
	m.mu.Lock()
	defer m.mu.Unlock()
	left := maxRecord
	for _, s := range m.sets {
		for _, o := range s.sources {
			if o.kind == kindFile || o.list == nil {
				continue
			}
			next := RemoteRecord{Set: s.name, Kind: o.kind, Name: o.name}
			if o.list.Bytes() <= left {
				if o.list.Names != nil {
					next.Names = strings.Join(o.list.Names.Entries(), "\n")
				} else {
					next.Networks, _ = o.list.Networks.AppendBinary(nil)
				}
			}
			size := len(next.Names) + len(next.Networks)
			if size == 0 || size > left {
				m.log.Warn("upgrade: a set has too many entries to pass on: the new process asks for them",
					zap.String("set", s.name), zap.String("source", o.origin()))
				continue
			}
			left -= size
			r.Remote = append(r.Remote, next)
		}
	}
	return r
}

// inherited returns what the process before this one knew from a source, or nil.
func (m *Manager) inherited(s *liveSet, o *source) *list.List {
	for i := range m.given.Remote {
		r := &m.given.Remote[i]
		if r.Set != s.name || r.Kind != o.kind || r.Name != o.name {
			continue
		}
		if r.Names != "" {
			names := strings.Split(r.Names, "\n")
			return &list.List{Names: nameset.New(names), Entries: len(names)}
		}
		if networks, ok := netset.Parse(r.Networks); ok {
			return &list.List{Networks: networks, Entries: networks.Len()}
		}
	}
	return nil
}
