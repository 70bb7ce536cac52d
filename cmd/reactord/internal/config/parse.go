package config

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
	"github.com/reactord/reactord/cmd/reactord/internal/yamltree"
)

// maxFile limits the size of all files in bytes, to a million networks or so. It refuses a device or a log given by
// mistake.
const maxFile = 32 << 20

// stdin is the name of standard input in errors.
const stdin = "<stdin>"

// Load reads the file at path, or standard input for "-", and the files that it includes. It reports mistakes in the
// content like [Parse]; an error of the file itself is one of package os. With an error, [Places] only has the files.
func Load(path string) (*Config, *Places, error) {
	name, f, main := stdin, os.Stdin, &part{}
	var files []File
	if path != "-" {
		var err error
		if f, err = os.Open(path); err != nil {
			return nil, &Places{}, err
		}
		defer f.Close()
		if main.info, err = f.Stat(); err != nil {
			return nil, &Places{}, err
		}
		if main.info.Mode().IsRegular() {
			main.dir = filepath.Dir(path)
		}
		name, files = path, []File{{path, main.info}}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, &Places{files: files}, err
	}
	return parse(main, name, data, files)
}

// Parse reads a configuration, and the files that it includes. name is the path of the file, which may be needed for
// errors only. The error joins one [*Error] for each mistake, so its text has a line for each. If a file is not valid
// YAML, only its first error is reported. Paths of include are relative to the directory of name.
func Parse(name string, data []byte) (*Config, *Places, error) {
	return parse(&part{dir: filepath.Dir(name)}, name, data, nil)
}

func parse(main *part, name string, data []byte, files []File) (*Config, *Places, error) {
	d := &decoder{includes: includes{files: files}}
	c, top := d.decode(main, name, data)
	if c != nil {
		for _, p := range d.settle(c, top) {
			d.problem(top, p)
		}
	}
	places := &Places{top: top, files: d.files, includes: d.patterns}
	if err := d.joined(); err != nil {
		return nil, places, err
	}
	return c, places, nil
}

// decode reads a configuration, which may still break rules, and the places of its settings. It returns a nil Config
// if there is nothing to read.
func (d *decoder) decode(main *part, name string, data []byte) (*Config, *place) {
	d.read(main, name, data)
	if main.body == nil {
		return nil, nil
	}
	for _, p := range d.parts {
		if p.body == nil {
			continue
		}
		p.top = &place{in: p.in, at: yamltree.PositionOf(p.body)}
		if m, ok := p.body.(*ast.MappingNode); ok {
			d.readSets(p.top, m)
		}
	}
	d.finishSets()
	c, top := New(), main.top
	v := reflect.ValueOf(c).Elem()
	d.section(top, "the configuration", main.body, root, v)
	for _, p := range d.parts[1:] {
		if p.body != nil {
			d.part(p, top, v)
		}
	}
	c.Include = nil
	return c, top
}

// document returns a file's only document, or nil after an error.
func (d *decoder) document(in *document, data []byte) ast.Node {
	top := position{Line: 1, Column: 1}
	if at, ok := invalid(data); ok {
		d.add(in, at, "not UTF-8: write text in UTF-8, and other bytes in hexadecimal, as in send_hex")
		return nil
	}
	file, err := in.parseTokens(lexer.Tokenize(string(data)))
	if err != nil {
		d.syntax(in, err)
		return nil
	}
	body, second := yamltree.Document(file)
	switch {
	case second != nil:
		d.add(in, second.At, "%s: a file holds one configuration", second.Text)
	case body == nil && in.order == 0:
		d.add(in, top, "the file is empty: write at least one listener and one backend")
	}
	return body
}

// invalid finds the first character that is not UTF-8.
func invalid(data []byte) (position, bool) {
	if utf8.Valid(data) {
		return position{}, false
	}
	at := position{Line: 1, Column: 1}
	for {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size <= 1:
			return at, true
		case r == '\n':
			at = position{Line: at.Line + 1, Column: 1}
		default:
			at.Column++
		}
		data = data[size:]
	}
}

// syntax adds an error of the YAML parser as a single line.
func (d *decoder) syntax(in *document, err error) {
	t, text := syntaxAt(err)
	if t != nil && t.Type == token.MappingStartType && t.Prev != nil && strings.HasSuffix(t.Prev.Value, "$") {
		text += ": write quotes around text with ${"
	}
	if strings.Contains(text, "not allowed in this context") {
		text += ": check the indentation of this line and the next: settings of one mapping begin in the same column"
	}
	text = strings.ReplaceAll(text, "'\t'", "'\\t' (a tab: write spaces)")
	d.add(in, yamltree.PositionOfToken(t), "not YAML: %s", strings.Join(strings.Fields(text), " "))
}
