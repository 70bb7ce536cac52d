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

// maxFile is the maximum size of a file in bytes. It is enough for thousands of backends. A device or a log that is
// given by mistake is refused quickly.
const maxFile = 1 << 20

// Error is something that is wrong with a configuration file.
type Error struct {
	File   string // the name that was given to Load or Parse
	Line   int    // counted from 1
	Column int    // in characters, counted from 1
	Text   string // what is wrong, and what to write instead

	err error
}

// Error is "file:line:column: text".
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Unwrap is the error of the system behind e, or nil.
func (e *Error) Unwrap() error { return e.err }

// Source is the places of the settings of a [Config] in its file.
type Source struct {
	file      string
	positions map[string]position
}

// Errors is an error that joins one [*Error] for each of the problems of a [Config] that [Load] has returned. It is nil
// if there are no problems.
func (s *Source) Errors(problems []Problem) error {
	d := &decoder{file: s.file, positions: s.positions}
	for _, p := range problems {
		d.problem(p)
	}
	return d.joined()
}

// Place is where the setting at a path of a [Problem] is: "FILE:LINE:COLUMN". If the file does not have the setting, it
// is the place of what would contain it.
func (s *Source) Place(path string) string {
	at := (&decoder{positions: s.positions}).place(path)
	return fmt.Sprintf("%s:%d:%d", s.file, at.line, at.column)
}

// Load reads the file at path, or standard input if path is "-". It reports what is wrong with the content as [Parse]
// does. An error of the file itself is an error of package os.
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

// Parse reads a configuration. name is the name of the file in errors. The error joins one [*Error] for each thing that
// is wrong, so that its text has one line for each; then the Config is nil. If data is not YAML, only the first error
// is reported.
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

// joined joins the errors in the order of the file; it is nil if there are none.
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

// document is the only document of a file, or nil after an error.
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
			continue // "%YAML 1.2", or only comments
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

// syntax adds an error of the YAML parser, in one line.
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
