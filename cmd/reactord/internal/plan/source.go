package plan

import (
	"cmp"
	"fmt"
	"net/url"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Source identifies a source of discovered servers for a backend: a name in DNS, a file, a URL, or a Service.
type Source struct {
	Backend string
	Kind    string // of lookup: see [config.Finder]
	Name    string // that is looked up: see [config.Finder]
}

// SourceOf returns the source of an entry of a backend's discovery.
func SourceOf(b *config.Backend, f config.Finder) Source { return Source{b.Name, f.Kind(), f.Key()} }

// Sources returns the sources of a backend in the order in which their servers are merged.
func Sources(b *config.Backend) []Source {
	finders := b.Finders()
	all := make([]Source, len(finders))
	for i, f := range finders {
		all[i] = SourceOf(b, f)
	}
	return all
}

// String returns the source for people, without the password of a URL.
func (s Source) String() string { return fmt.Sprintf("backend %s: %s", s.Backend, s.Title()) }

// Title returns the same without the backend.
func (s Source) Title() string {
	name := s.Name
	if u, err := url.Parse(name); err == nil && u.Host != "" {
		name = u.Redacted()
	}
	return s.Kind + " " + name
}

// CompareSources orders sources by their backends, kinds and names.
func CompareSources(a, b Source) int {
	return cmp.Or(cmp.Compare(a.Backend, b.Backend), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}
