package config

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

type position struct{ line, column int }

// decoder fills a Config from YAML nodes. It continues after an error, to find all of them.
type decoder struct {
	file      string
	positions map[string]position // of the value at each path in the file
	failed    map[string]bool     // paths of values that could not be read
	errs      []*Error
}

// reader reads the node at a path into a variable.
type reader func(path string, n ast.Node)

func (d *decoder) config(c *Config, n ast.Node) {
	d.mapping(map[string]reader{
		"ring":          d.text(&c.Ring),
		"loops":         d.integer(&c.Loops),
		"pin":           d.boolean(&c.Pin),
		"min_wait":      d.duration(&c.MinWait),
		"metrics":       d.address(&c.Metrics),
		"drain": d.mapping(map[string]reader{
			"timeout": d.duration(&c.Drain.Timeout),
		}),
		"log": d.mapping(map[string]reader{
			"level":  d.text(&c.Log.Level),
			"format": d.text(&c.Log.Format),
		}),
		"listeners": d.list(func(path string, n ast.Node) {
			c.Listeners = append(c.Listeners, NewListener())
			d.listener(&c.Listeners[len(c.Listeners)-1])(path, n)
		}),
		"backends": d.list(func(path string, n ast.Node) {
			c.Backends = append(c.Backends, NewBackend())
			d.backend(&c.Backends[len(c.Backends)-1])(path, n)
		}),
	})("", n)
}

func (d *decoder) listener(l *Listener) reader {
	return d.mapping(map[string]reader{
		"name":            d.text(&l.Name),
		"address":         d.address(&l.Address),
		"backend":         d.text(&l.Backend),
		"max_connections": d.integer(&l.MaxConnections),
	})
}

func (d *decoder) backend(b *Backend) reader {
	return d.mapping(map[string]reader{
		"name": d.text(&b.Name),
		"servers": d.list(func(path string, n ast.Node) {
			b.Servers = append(b.Servers, NewServer())
			d.address(&b.Servers[len(b.Servers)-1].Address)(path, n)
		}),
		"connect_timeout":    d.duration(&b.ConnectTimeout),
		"idle_timeout":       d.duration(&b.IdleTimeout),
		"half_close_timeout": d.duration(&b.HalfCloseTimeout),
		"buffer":             d.size(&b.Buffer),
	})
}

// mapping reads a mapping with a reader for each key.
func (d *decoder) mapping(fields map[string]reader) reader {
	return func(path string, n ast.Node) {
		m, ok := n.(*ast.MappingNode)
		if !ok {
			name := cmp.Or(key(path), "the configuration")
			d.fail(path, n, "%s is a mapping of %s, not %s", name, list(sortedKeys(fields)), describe(n))
			return
		}
		d.positions[path] = positionOf(n)
		written := map[string]position{}
		for _, entry := range m.Values {
			at := positionOf(entry.Key)
			name, ok := entry.Key.(*ast.StringNode)
			if !ok {
				d.add(at, "a key is plain text, not %s", describe(entry.Key))
				continue
			}
			child := strings.TrimPrefix(path+"."+name.Value, ".")
			read, known := fields[name.Value]
			first, repeated := written[name.Value]
			switch {
			case !known:
				d.unknownKey(path, name.Value, at, fields)
			case repeated:
				d.add(at, "%s is already set in line %d", name.Value, first.line)
			default:
				written[name.Value] = at
				d.positions[child] = positionOf(entry.Value)
				read(child, entry.Value)
			}
		}
	}
}

// unknownKey adds the error of an unknown key. If a known key was probably meant, its absence is no error.
func (d *decoder) unknownKey(path, name string, at position, fields map[string]reader) {
	keys := sortedKeys(fields)
	d.add(at, "key %s is unknown: %s", quote(name), didYouMean(name, keys))
	if meant := nearest(name, keys); meant != "" {
		d.failed[strings.TrimPrefix(path+"."+meant, ".")] = true
	}
}

// list reads each entry of a list.
func (d *decoder) list(read reader) reader {
	return func(path string, n ast.Node) {
		s, ok := n.(*ast.SequenceNode)
		if !ok {
			d.fail(path, n, "%s is a list, not %s: put \"- \" before each entry", key(path), describe(n))
			return
		}
		for i, entry := range s.Values {
			child := fmt.Sprintf("%s[%d]", path, i)
			d.positions[child] = positionOf(entry)
			read(child, entry)
		}
	}
}

func (d *decoder) add(at position, format string, args ...any) {
	text := fmt.Errorf(format, args...).Error()
	d.errs = append(d.errs, d.errorAt(at, text))
}

func (d *decoder) errorAt(at position, text string) *Error {
	return &Error{File: d.file, Line: at.line, Column: at.column, Text: text}
}

// fail adds an error of the node at a path. What Validate then finds at this path is ignored.
func (d *decoder) fail(path string, n ast.Node, format string, args ...any) {
	d.failed[path] = true
	d.add(positionOf(n), format, args...)
}

// problem adds a problem that Validate found, unless its setting could not be read.
func (d *decoder) problem(p Problem) {
	for path := p.Path; ; path = parent(path) {
		if d.failed[path] {
			return
		}
		if path == "" {
			break
		}
	}
	text := p.String()
	if p.Other != "" {
		at := d.place(p.Other)
		text += fmt.Sprintf("; see %s:%d:%d", d.file, at.line, at.column)
	}
	e := d.errorAt(d.place(p.Path), text)
	e.err = p.Err
	d.errs = append(d.errs, e)
}

// place is the position of a setting. If the file does not have it, it is the position of what would contain it.
func (d *decoder) place(path string) position {
	for ; ; path = parent(path) {
		if at, ok := d.positions[path]; ok {
			return at
		}
		if path == "" {
			return position{1, 1}
		}
	}
}

// parent is the path without its last part.
func parent(path string) string { return path[:max(strings.LastIndexAny(path, ".["), 0)] }

// positionOf is where a node begins.
func positionOf(n ast.Node) position {
	switch m := n.(type) {
	case *ast.MappingNode:
		if len(m.Values) > 0 && !m.IsFlowStyle {
			return positionOf(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return positionOf(m.Key)
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return position{max(t.Position.Line, 1), max(t.Position.Column, 1)}
	}
	return position{1, 1}
}
