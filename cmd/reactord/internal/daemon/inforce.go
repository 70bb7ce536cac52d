package daemon

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// inForce returns the configuration in force as a file, with all servers of the plan and the overrides of the admin
// API. Each value has a comment with its origin.
func inForce(f *plan.File, p *plan.Plan, overrides map[plan.ServerKey]plan.Override) []byte {
	c := *f.Config
	c.Backends = append([]config.Backend(nil), c.Backends...)
	found := map[string]string{} // origins of servers and of what is overridden of them, by path
	for i := range c.Backends {
		b := p.Backend(c.Backends[i].Name)
		if b == nil {
			continue // the plan is that of another file: a reload came between
		}
		c.Backends[i].Servers = make([]config.Server, len(b.Servers))
		for j, s := range b.Servers {
			c.Backends[i].Servers[j] = config.Server{
				Address: addressSetting(s.Address),
				Name:    s.Name, Weight: s.Weight, Priority: s.Priority, Backup: s.Backup, Locality: s.Locality,
				MaxConnections: s.MaxConnections, Plain: s.Plain, State: s.State.String(),
			}
			if s.Check != nil {
				c.Backends[i].Servers[j].Check = *s.Check
			}
			if s.Agent != nil {
				c.Backends[i].Servers[j].Agent = *s.Agent
			}
			path := fmt.Sprintf("backends[%d].servers[%d]", i, j)
			found[path] = strings.TrimPrefix(s.Origin, plan.Overridden)
			o := overrides[plan.ServerKey{Backend: b.Name(), Address: s.Address}]
			if o.State != nil {
				found[path+".state"] = plan.Overridden + found[path]
			}
			if o.Weight != nil {
				found[path+".weight"] = plan.Overridden + found[path]
			}
			if o.MaxConnections != nil {
				found[path+".max_connections"] = plan.Overridden + found[path]
			}
			if o.State == nil && s.Reason != "" {
				found[path+".state"] = s.Reason
			}
			if s.HealthReason != "" { // the file has no such setting
				found[path] += ", " + s.HealthReason
				found[path+".address"] = found[path]
			}
		}
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "# The plan of revision %d\n", p.Revision)
	_ = config.PrintRedacted(&text, &c, func(path string) string {
		if origin, ok := found[path]; ok {
			return origin
		}
		if server, _, ok := cutLast(path, "]."); ok {
			if origin, ok := found[server+"]"]; ok {
				return origin
			}
		}
		if f.Origin == nil {
			return "command line or default"
		}
		return f.Origin(path)
	})
	return text.Bytes()
}

// cutLast cuts s around the last separator, as [strings.Cut] does around the first.
func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return s, "", false
}

// addressSetting converts the address of a server to a setting.
func addressSetting(a serveraddr.Addr) config.Address {
	if a.IsUnix() {
		return config.Address{Path: a.Path()}
	}
	return config.Address{Host: a.IP().String(), Port: a.Port()}
}
