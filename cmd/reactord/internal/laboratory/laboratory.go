package laboratory

import (
	"context"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/loader"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/sets"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// Laboratory answers questions about a configuration. One goroutine at a time may use it.
type Laboratory struct {
	file *plan.File
	plan *plan.Plan
}

// Open reads a configuration file; "-" is standard input. Servers of discovery are not in it.
func Open(ctx context.Context, path string) (*Laboratory, error) {
	l, err := loader.FromFile(path)
	if err != nil {
		return nil, err
	}
	file, err := l.Load(ctx)
	if err != nil {
		return nil, err
	}
	p, err := plan.Merge(plan.Parts{File: file})
	if err != nil {
		return nil, err
	}
	return &Laboratory{file, p}, nil
}

// Explain returns what would become of a connection of a client while servers are in some states, and why. Later states
// of a server replace earlier ones.
func (l *Laboratory) Explain(text *proxy.ClientText, states ...States) (*stats.Explanation, error) {
	c, err := text.Parse()
	if err != nil {
		return nil, err
	}
	known, err := assume(l.plan, states)
	if err != nil {
		return nil, err
	}
	p, err := plan.Merge(plan.Parts{File: l.file, Overrides: known.overrides})
	if err != nil {
		return nil, err
	}
	preview, err := proxy.NewPreview(p, known.health, sets.NewDirectory(l.file.Config.Sets, l.file.Lists))
	if err != nil {
		return nil, err
	}
	x, err := preview.Explain(c, l.file)
	if err != nil {
		return nil, err
	}
	for i := range x.Backends {
		servers := x.Backends[i].Servers
		for k := range servers {
			s, overridden := &servers[k], false
			if s.Origin, overridden = strings.CutPrefix(s.Origin, plan.Overridden); overridden {
				s.Reason = reasonAssumed
			}
		}
	}
	return x, nil
}
