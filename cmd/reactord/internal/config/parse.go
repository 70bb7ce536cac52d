package config

import (
	"io"
	"os"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
	"github.com/reactord/reactord/cmd/reactord/internal/yamltree"
)

// maxFile limits the size of a file in bytes, to fifty thousand servers or so. It quickly refuses a device or a log
// given by mistake.
const maxFile = 4 << 20

// Load reads the file at path, or standard input for "-". It reports mistakes in the content like [Parse]; an error
// of the file itself is one of package os.
func Load(path string) (*Config, *Places, error) {
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

func read(name string, r io.Reader) (*Config, *Places, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, nil, err
	}
	return Parse(name, data)
}

// Parse reads a configuration. name is the name of the file in errors. The error joins one [*Error] for each mistake,
// so its text has a line for each. If data is not valid YAML, only the first error is reported.
func Parse(name string, data []byte) (*Config, *Places, error) {
	d := &decoder{}
	c, top := d.decode(name, data)
	if c != nil {
		for _, p := range d.settle(c, top) {
			d.problem(top, p)
		}
	}
	if err := d.joined(); err != nil {
		return nil, nil, err
	}
	return c, &Places{top}, nil
}

// decode reads a configuration, which may still break rules, and the places of its settings. It returns a nil Config
// if there is nothing to read.
func (d *decoder) decode(name string, data []byte) (*Config, *place) {
	in := &document{file: name}
	body := d.document(in, data)
	if body == nil {
		return nil, nil
	}
	c, top := New(), &place{in: in, at: yamltree.PositionOf(body)}
	if m, ok := body.(*ast.MappingNode); ok {
		d.readSets(top, m)
		d.finishSets()
	}
	d.section(top, "the configuration", body, root, reflect.ValueOf(c).Elem())
	return c, top
}

// document returns a file's only document, or nil after an error.
func (d *decoder) document(in *document, data []byte) ast.Node {
	top := position{Line: 1, Column: 1}
	if len(data) > maxFile {
		d.add(in, top, "the file is larger than %s", Size(maxFile))
		return nil
	}
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
	case body == nil:
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
