package discovery

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// example is a target group for error texts.
const example = `{"targets": ["10.0.0.1:80"], "labels": {"weight": "2"}}`

// lookupFunc finds the address of a host.
type lookupFunc func(ctx context.Context, host string) (netip.Addr, error)

// groups converts target groups to servers.
type groups struct {
	lookup lookupFunc
	origin func(*value) string   // origin of the server that a target describes
	names  map[string]netip.Addr // names looked up so far
}

// reader calls each for each target group of a text, and stops at its first error.
type reader func(data []byte, each func(group *value) error) error

// notAList returns the error for a text that is not a list.
func notAList(root *value) error {
	return root.wrong("want a list of target groups, not %v: write [%s]", root.kind, example)
}

func (g *groups) group(ctx context.Context, all []plan.Server, group *value) ([]plan.Server, error) {
	if group.kind != mapping {
		return nil, group.wrong("want a target group, not %v: write %s", group.kind, example)
	}
	model := plan.Server{Weight: 1}
	var targets *value
	for i, key := range group.keys {
		v := &group.items[i]
		var err error
		switch key {
		case "targets":
			targets, err = v, v.needs(list, "targets are a list of HOST:PORT")
		case "labels":
			err = v.labels(&model)
		default: // Prometheus ignores it, too
		}
		if err != nil {
			return nil, err
		}
	}
	if targets == nil {
		return nil, group.wrong("the group has no targets: write %s", example)
	}
	if model.Name != "" && len(targets.items) > 1 {
		return nil, group.wrong("the label name %q applies to %d targets: write a group for each",
			model.Name, len(targets.items))
	}
	for i := range targets.items {
		s, err := g.target(ctx, model, &targets.items[i])
		if err != nil {
			return nil, err
		}
		if all = append(all, s); len(all) > maxServers {
			return nil, &contentError{line: group.line, column: group.column, text: errTooMany.Error()}
		}
	}
	return all, nil
}

// needs returns an error if v is of another kind. A list may be null.
func (v *value) needs(k kind, what string) error {
	if v.kind == k || v.kind == null && k == list {
		return nil
	}
	return v.wrong("%s, not %v", what, v.kind)
}

// labels applies the labels that are for the proxy. Others, such as "job", are ignored.
func (v *value) labels(s *plan.Server) error {
	if v.kind == null {
		return nil
	}
	if err := v.needs(mapping, `labels are a mapping such as {"weight": "2"}`); err != nil {
		return err
	}
	for i, key := range v.keys {
		l := &v.items[i]
		var err error
		switch key {
		case "weight":
			s.Weight, err = l.number(key, 1000)
		case "priority":
			s.Priority, err = l.number(key, maxPriority)
		case "max_connections":
			s.MaxConnections, err = l.number(key, maxConnections)
		case "backup":
			s.Backup, err = l.boolean(key)
		case "locality":
			s.Locality, err = l.word(key)
		case "name":
			s.Name, err = l.word(key)
		case "state":
			s.State, err = l.state()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Limits of labels.
const (
	maxPriority    = 65535 // as that of SRV records
	maxConnections = 1 << 30
	maxWord        = 253 // bytes, as of a host name
	maxTarget      = 300 // bytes, with a scheme and a port
)

func (v *value) number(key string, most int) (int, error) {
	n, err := strconv.Atoi(v.text)
	if v.kind != scalar || err != nil || n < 0 || n > most {
		return 0, v.wrong("the label %s is a whole number from 0 to %d, not %s", key, most, v.quoted())
	}
	return n, nil
}

func (v *value) boolean(key string) (bool, error) {
	if v.kind == scalar {
		switch v.text {
		case "true":
			return true, nil
		case "false", "":
			return false, nil
		}
	}
	return false, v.wrong("the label %s is true or false, not %s", key, v.quoted())
}

// word returns text that logs and metrics can show.
func (v *value) word(key string) (string, error) {
	if v.kind != scalar || len(v.text) > maxWord {
		return "", v.wrong("the label %s is text of at most %d bytes, not %s", key, maxWord, v.quoted())
	}
	for _, r := range v.text {
		if !strconv.IsPrint(r) {
			return "", v.wrong("the label %s has a character that cannot be printed: %s", key, v.quoted())
		}
	}
	return v.text, nil
}

func (v *value) state() (plan.State, error) {
	if i := slices.Index(config.States, v.text); v.kind == scalar && i >= 0 {
		return plan.State(i), nil // in the order of plan's constants
	}
	return plan.Up, v.wrong("the label state is one of %q, not %s", config.States, v.quoted())
}

// quoted describes v for an error.
func (v *value) quoted() string {
	if v.kind != scalar {
		return v.kind.String()
	}
	if len(v.text) > 60 {
		return strconv.Quote(v.text[:60]) + "…"
	}
	return strconv.Quote(v.text)
}

// target returns the server of a target.
func (g *groups) target(ctx context.Context, s plan.Server, v *value) (plan.Server, error) {
	if err := v.needs(scalar, "a target is HOST:PORT"); err != nil {
		return s, err
	}
	if len(v.text) > maxTarget {
		return s, v.wrong("target %s: more than %d bytes", v.quoted(), maxTarget)
	}
	a, err := config.ParseAddress(v.text)
	if err == nil && a.Path == "" && a.Port == 0 {
		err = fmt.Errorf("port 0 is not allowed")
	}
	if err != nil {
		return s, v.wrong("target %s: %v", v.quoted(), err)
	}
	if s.Address, err = g.address(ctx, a); err != nil {
		return s, &contentError{line: v.line, column: v.column, text: fmt.Sprintf("target %s: %v", v.quoted(), err), err: err}
	}
	if s.Name == "" {
		s.Name = a.ServerName()
	}
	s.Origin = g.origin(v)
	return s, nil
}

func (g *groups) address(ctx context.Context, a config.Address) (serveraddr.Addr, error) {
	if a.Path != "" {
		return serveraddr.Unix(a.Path), nil
	}
	ip, err := g.ip(ctx, a.Host)
	return serveraddr.IP(netip.AddrPortFrom(ip, a.Port)), err
}

func (g *groups) ip(ctx context.Context, host string) (netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap(), nil
	}
	if ip, known := g.names[host]; known {
		return ip, nil
	}
	ip, err := g.lookup(ctx, host)
	if err == nil {
		if g.names == nil {
			g.names = map[string]netip.Addr{}
		}
		g.names[host] = ip
	}
	return ip, err
}

// parse reads target groups. It returns the servers, which are never nil, or an error.
func (g *groups) parse(ctx context.Context, data []byte, read reader) ([]plan.Server, error) {
	all := []plan.Server{}
	err := read(data, func(group *value) (err error) {
		all, err = g.group(ctx, all, group)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
