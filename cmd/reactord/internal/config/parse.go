package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxFile bounds what is read of a file, in bytes: enough for thousands of backends, and little enough
// for a device or a log given by mistake to be found out at once.
const maxFile = 1 << 20

// Error is something that is wrong with a configuration file.
type Error struct {
	File   string // as it was named to Load or Parse
	Line   int    // counted from 1
	Column int    // in characters, counted from 1
	Text   string // what is wrong, and what to write instead

	err error
}

// Error is "file:line:column: text".
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Unwrap is the error of the system behind it, if there is one.
func (e *Error) Unwrap() error { return e.err }

// Source knows where in its file each setting of a Config is.
type Source struct {
	file      string
	positions map[string]position
}

// Errors puts what was found wrong with a Config that Load has returned in its place in the file: the error joins one
// *Error for each of the problems, as Load's does. It is nil if there are none.
func (s *Source) Errors(problems []Problem) error {
	d := &decoder{file: s.file, positions: s.positions}
	for _, p := range problems {
		d.problem(p)
	}
	return d.joined()
}

// Load reads the file at path, or standard input if path is "-". What is wrong with its contents is
// reported as by Parse; an error of the file itself is that of package os.
func Load(path string) (*Config, *Source, error) {
	if path == "-" {
		return read("<stdin>", os.Stdin)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return read(path, f)
}

func read(name string, r io.Reader) (*Config, *Source, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, nil, err
	}
	return Parse(name, data)
}

// Parse reads a configuration. name stands for it in errors. The error, if any, joins one *Error for
// each thing that is wrong, so that its text has one line for each; the Config then is nil. Of what
// is not YAML at all only the first error is known.
func Parse(name string, data []byte) (*Config, *Source, error) {
	d := &decoder{file: name, positions: map[string]position{}, failed: map[string]bool{}}
	c := New()
	if body := d.document(data); body != nil {
		d.config(c, body)
		for _, p := range c.Validate() {
			d.problem(p)
		}
	}
	if err := d.joined(); err != nil {
		return nil, nil, err
	}
	return c, &Source{d.file, d.positions}, nil
}

// joined is what is wrong, in the order of the file; nil: nothing.
func (d *decoder) joined() error {
	slices.SortStableFunc(d.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	errs := make([]error, len(d.errs))
	for i, e := range d.errs {
		errs[i] = e
	}
	return errors.Join(errs...)
}

// document is the one document of a file, or nil after an error.
func (d *decoder) document(data []byte) ast.Node {
	top := position{1, 1}
	if len(data) > maxFile {
		d.add(top, "the file is larger than %s", Size(maxFile))
		return nil
	}
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(err)
		return nil
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if _, ok := doc.Body.(*ast.DirectiveNode); ok || doc.Body == nil {
			continue // "%YAML 1.2", or nothing but comments
		}
		if body != nil {
			d.add(positionOf(doc.Body), "a second document: one file holds one configuration")
			return nil
		}
		body = doc.Body
	}
	if body == nil {
		d.add(top, "the file is empty: write at least one listener and one backend")
	}
	return body
}

// syntax adds the error of the YAML parser, in one line.
func (d *decoder) syntax(err error) {
	at, text := position{1, 1}, err.Error()
	if e, ok := errors.AsType[yaml.Error](err); ok {
		text = e.GetMessage()
		if t := e.GetToken(); t != nil && t.Position != nil {
			at = position{max(t.Position.Line, 1), max(t.Position.Column, 1)}
		}
	}
	text = strings.ReplaceAll(text, "'\t'", "'\\t' (a tab: write spaces)")
	d.add(at, "not YAML: %s", strings.Join(strings.Fields(text), " "))
}
