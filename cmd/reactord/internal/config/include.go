package config

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/reactord/reactord/cmd/reactord/internal/yamltree"
)

// Limits of included files. Those of their size are limits of all files together.
const (
	maxIncluded     = 1000
	maxIncludeDepth = 8
)

// File is a file of a configuration, with what was known of it when it was opened. Info is nil if it could not be.
type File struct {
	Path string
	Info fs.FileInfo
}

// part is a file of a configuration that is being read.
type part struct {
	in   *document
	dir  string   // that the paths of include are relative to
	body ast.Node // nil if there is nothing to read in it
	top  *place

	by   *part // the file that includes it; nil for the first one
	at   position
	info fs.FileInfo
}

// includes records the files of a configuration.
type includes struct {
	parts    []*part
	size     int // of all files
	files    []File
	patterns []string // of include, as paths
}

// Included returns the files that an entry of include stands for, in the order in which they are read. Its path is that
// of a file, a directory, or a pattern.
func Included(entry string) ([]string, error) {
	dir, pattern := filepath.Split(entry)
	if !isWild(pattern) {
		info, err := os.Stat(entry)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return []string{entry}, nil
		}
		dir, pattern = entry, "*.yaml"
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("%s is not a pattern: %w", quote(pattern), err)
	}
	entries, err := os.ReadDir(filepath.Clean(dir)) // by name; filepath.Glob would hide errors
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		hidden := strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(pattern, ".") // such as ..data of a ConfigMap
		if ok, _ := path.Match(pattern, e.Name()); ok && !hidden && !e.IsDir() {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, nil
}

func isWild(path string) bool { return strings.ContainsAny(path, `*?[\`) }

// read reads a file and those that it includes.
func (d *decoder) read(p *part, name string, data []byte) {
	p.in = &document{file: name, order: len(d.parts)}
	d.parts = append(d.parts, p)
	if d.size += len(data); d.size > maxFile {
		d.add(p.in, position{Line: 1, Column: 1}, "the configuration is larger than %s", Size(maxFile))
		return
	}
	p.body = d.document(p.in, data)
	m, ok := p.body.(*ast.MappingNode)
	if !ok {
		return
	}
	for entry := range p.in.entries(m) {
		list, ok := entry.Value.(*ast.SequenceNode)
		if !ok || !isKey(entry, "include") {
			continue
		}
		for _, n := range list.Values {
			// What is no text is reported with the other settings.
			if s, ok := n.(*ast.StringNode); ok {
				if text, _, err := expand(s.Value, os.LookupEnv); err == nil && text != "" {
					d.include(p, yamltree.PositionOf(n), text)
				}
			}
		}
	}
}

// include reads the files of an entry of include in p.
func (d *decoder) include(p *part, at position, entry string) {
	depth := 0
	for above := p; above.by != nil; above = above.by {
		depth++
	}
	if depth >= maxIncludeDepth {
		d.add(p.in, at, "include %s: more than %d levels of included files", quote(entry), maxIncludeDepth)
		return
	}
	if isWild(filepath.Dir(entry)) {
		d.add(p.in, at, "include %s: only the last part of a path may be a pattern", quote(entry))
		return
	}
	from := entry
	if !filepath.IsAbs(entry) {
		from = filepath.Join(p.dir, entry)
	}
	d.patterns = append(d.patterns, from)
	files, err := Included(from)
	if err != nil {
		d.addText(p.in, at, fmt.Sprintf("include %s: %v", quote(entry), err), err)
	}
	for _, file := range files {
		if err := d.includeFile(&part{dir: filepath.Dir(file), by: p, at: at}, file); err != nil {
			d.addText(p.in, at, fmt.Sprintf("include %s: %v", quote(entry), err), err)
		}
	}
}

// includeFile reads an included file.
func (d *decoder) includeFile(p *part, file string) error {
	if len(d.parts) > maxIncluded {
		return fmt.Errorf("more than %d files", maxIncluded)
	}
	d.files = append(d.files, File{Path: file})
	// A pipe without a writer would block.
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		if err == nil {
			err = fmt.Errorf("%s is not a regular file", file)
		}
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if p.info, err = f.Stat(); err != nil {
		return err
	}
	d.files[len(d.files)-1].Info = p.info
	for above := p.by; above != nil; above = above.by {
		if above.info != nil && os.SameFile(above.info, p.info) {
			return fmt.Errorf("%s includes itself", file)
		}
	}
	for _, other := range d.parts {
		if other.info != nil && os.SameFile(other.info, p.info) {
			return fmt.Errorf("%s is included twice; see %s", file, &place{in: other.by.in, at: other.at})
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return err
	}
	d.read(p, file, data)
	return nil
}

// isJoined reports whether the lists of all files are one list.
func isJoined(f *field) bool {
	return slices.Contains([]string{"listeners", "backends", "defaults", "include", "sets"}, f.key)
}

// part reads the settings of an included file, and joins their places with those of the others.
func (d *decoder) part(p *part, top *place, v reflect.Value) {
	was := make([]reflect.Value, len(root.fields)) // of lists
	for i, f := range root.fields {
		if isJoined(f) {
			was[i] = reflect.ValueOf(f.of(v).Interface())
			f.of(v).SetZero()
		}
	}
	d.section(p.top, "the configuration", p.body, root, v)
	for i, f := range root.fields {
		own, first := p.top.child(f.key), top.child(f.key)
		if isJoined(f) {
			f.of(v).Set(reflect.AppendSlice(was[i], f.of(v)))
		}
		switch {
		case own == nil:
		case first == nil:
			if top.fields == nil {
				top.fields = map[string]*place{}
			}
			top.fields[f.key] = own
		case isJoined(f):
			first.entries = append(first.entries, own.entries...)
			first.failed = first.failed || own.failed
		default:
			d.add(own.in, own.key, "%s is already set; see %s", f.key, &place{in: first.in, at: first.key})
		}
	}
}
