package plan

import "maps"

// Parts is everything that a plan is merged from. What it refers to is immutable.
type Parts struct {
	File       *File
	Control    *Control // nil without a control plane
	Discovered map[Source][]Server
	Overrides  map[ServerKey]Override
	Drains     map[DrainRule]Stamp // of servers, by operators

	merged *mergedFile // of File and Control; see mergeFile
}

// With returns a copy of p with the edits made.
func (p Parts) With(edits ...func(*Parts) error) (Parts, error) {
	discovered, overrides, drains := p.Discovered, p.Overrides, p.Drains
	p.Discovered, p.Overrides, p.Drains = map[Source][]Server{}, map[ServerKey]Override{}, map[DrainRule]Stamp{}
	maps.Copy(p.Discovered, discovered)
	maps.Copy(p.Overrides, overrides)
	maps.Copy(p.Drains, drains)
	was := p
	for _, edit := range edits {
		if err := edit(&p); err != nil {
			return Parts{}, err
		}
	}
	if p.File != was.File || p.Control != was.Control {
		p.forget(was.File == nil)
	}
	return p, nil
}

// forget removes the servers of sources, and the overrides and drains of backends, that no longer exist. Before the
// first plan, overrides stay while a control plane has not answered: it may have their backends.
func (p *Parts) forget(first bool) {
	known := p.Sources()
	maps.DeleteFunc(p.Discovered, func(s Source, _ []Server) bool { return !known[s] })
	if !first || p.Control != nil || !p.File.Config.XDS.Enabled() {
		maps.DeleteFunc(p.Overrides, func(k ServerKey, _ Override) bool { return !p.Has(k.Backend) })
		maps.DeleteFunc(p.Drains, func(r DrainRule, _ Stamp) bool { return r.Backend != "" && !p.Has(r.Backend) })
	}
}

// Sources returns the sources of all backends. See [File.Sources] for its threads.
func (p *Parts) Sources() map[Source]bool {
	if len(p.Control.Sources()) == 0 {
		return p.File.Sources()
	}
	all := maps.Clone(p.Control.Sources())
	maps.Copy(all, p.File.Sources())
	return all
}

// Has reports whether the file or the control plane has a backend.
func (p *Parts) Has(backend string) bool { return p.File.has(backend) || p.Control.has(backend) }

// Merged returns the file with the additions of the control plane, as of the last merge of p. It is nil before the
// first.
func (p *Parts) Merged() *File {
	if p.merged == nil {
		return nil
	}
	return &p.merged.File
}
