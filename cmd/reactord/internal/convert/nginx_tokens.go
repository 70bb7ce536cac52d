package convert

import (
	"errors"
	"path"
	"strings"
)

// ngDirective is a directive of nginx, with the block that follows it.
type ngDirective struct {
	place

	words  []string
	block  []*ngDirective
	braces bool // it has a block, even if an empty one
}

func (d *ngDirective) name() string { return d.words[0] }

// arg returns the argument at i, from 1 on, or "".
func (d *ngDirective) arg(i int) string {
	if i < len(d.words) {
		return d.words[i]
	}
	return ""
}

// args returns the arguments.
func (d *ngDirective) args() []string { return d.words[1:] }

// text returns the directive for the report.
func (d *ngDirective) text() string { return strings.Join(d.words, " ") }

// Limits of nested blocks and included files.
const (
	maxBlocks   = 64
	maxIncludes = 1000
)

var (
	errBrace   = errors.New("a brace is not closed, or not opened")
	errNgQuote = errors.New("a quote is not closed")
	errNesting = errors.New("blocks or included files are nested too deeply")
)

// ngReader reads the directives of files.
type ngReader struct {
	source   *Source
	report   *Report
	dir      string // of the main file
	included int
}

// file reads the directives of a text.
func (r *ngReader) file(name, text string, depth int) []*ngDirective {
	p := &ngParser{reader: r, name: name, rest: text, line: 1, depth: depth}
	all, err := p.directives(0)
	if err != nil {
		r.report.add(place{name, p.line}, "", LeftOut, "", "%s: what follows is not read", err)
	}
	return all
}

type ngParser struct {
	reader *ngReader
	name   string
	rest   string
	line   int
	depth  int // of included files
	whole  int // blocks that are left out as a whole
}

// directives reads up to the end of a block, or of the file.
func (p *ngParser) directives(level int) (all []*ngDirective, err error) {
	if level > maxBlocks {
		return nil, errNesting
	}
	d := &ngDirective{}
	for {
		at := place{p.name, p.line}
		word, quoted, err := p.word()
		if len(d.words) == 0 {
			d.place = place{p.name, p.line}
		}
		switch {
		case err != nil:
			return all, err
		case word == "" && !quoted:
			if len(d.words) > 0 || level > 0 {
				p.line = at.line
				return all, errBrace
			}
			return all, nil
		case quoted || word != ";" && word != "{" && word != "}":
			d.words = append(d.words, word)
			continue
		case word == "}" && (level == 0 || len(d.words) > 0):
			return all, errBrace
		case word == "}":
			return all, nil
		case len(d.words) == 0:
			continue // an empty directive
		case word == "{":
			d.braces = true
			p.block(d, level)
			if d.block, err = p.directives(level + 1); err != nil {
				return append(all, d), err
			}
			if ngWhole(d.name()) {
				p.whole--
			}
		}
		if d.name() == "include" && !d.braces && p.whole == 0 {
			all = append(all, p.include(d)...)
		} else {
			all = append(all, d)
		}
		d = &ngDirective{}
	}
}

// ngWhole reports whether a block is left out as a whole, so that what it includes does not matter.
func ngWhole(name string) bool { return name == "http" || name == "mail" }

func (p *ngParser) block(d *ngDirective, _ int) {
	if ngWhole(d.name()) {
		p.whole++
	}
}

// word returns the next word, ";", "{" or "}"; "" is the end.
func (p *ngParser) word() (word string, quoted bool, err error) {
	p.space()
	if p.rest == "" {
		return "", false, nil
	}
	switch c := p.rest[0]; c {
	case ';', '{', '}':
		p.rest = p.rest[1:]
		return string(c), false, nil
	case '"', '\'':
		p.rest = p.rest[1:]
		word, err = p.until(string(c))
		if err == nil {
			p.rest = p.rest[1:]
		}
		return word, true, err
	}
	word, err = p.until(" \t\r\n;{")
	return word, false, err
}

// space skips spaces and comments.
func (p *ngParser) space() {
	for p.rest != "" {
		switch c := p.rest[0]; {
		case c == '\n':
			p.line++
			p.rest = p.rest[1:]
		case c == ' ' || c == '\t' || c == '\r':
			p.rest = p.rest[1:]
		case c == '#':
			if i := strings.IndexByte(p.rest, '\n'); i >= 0 {
				p.rest = p.rest[i:]
			} else {
				p.rest = ""
			}
		default:
			return
		}
	}
}

// until takes characters up to one of those, which it leaves. A backslash escapes; ${NAME} is a part of a word.
func (p *ngParser) until(ends string) (string, error) {
	var b strings.Builder
	for p.rest != "" {
		c := p.rest[0]
		switch {
		case c == '\\' && len(p.rest) > 1:
			p.escape(&b)
			continue
		case c == '$' && strings.HasPrefix(p.rest, "${"):
			b.WriteString("${")
			p.rest = p.rest[2:]
			continue
		case strings.IndexByte(ends, c) >= 0:
			return b.String(), nil
		case c == '\n':
			p.line++
		}
		b.WriteByte(c)
		p.rest = p.rest[1:]
	}
	if len(ends) == 1 {
		return "", errNgQuote
	}
	return b.String(), nil
}

// escape takes a backslash and the character after it. Patterns keep the backslashes that nginx does not know.
func (p *ngParser) escape(b *strings.Builder) {
	switch c := p.rest[1]; c {
	case '"', '\'', '\\':
		b.WriteByte(c)
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case 'n':
		b.WriteByte('\n')
	default:
		if c == '\n' {
			p.line++
		}
		b.WriteString(p.rest[:2])
	}
	p.rest = p.rest[2:]
}

// include returns the directives of the files that an include names.
func (p *ngParser) include(d *ngDirective) (all []*ngDirective) {
	r, pattern := p.reader, d.arg(1)
	if !path.IsAbs(pattern) {
		pattern = path.Join(r.dir, pattern)
	}
	files := []string{pattern}
	if r.source.Files == nil || p.depth > maxBlocks {
		r.report.add(d.place, d.text(), Supply, "", "the files are not read: put their content there")
		return nil
	}
	if strings.ContainsAny(pattern, "*?[") {
		var err error
		if files, err = r.source.Files.Glob(pattern); err != nil {
			r.report.add(d.place, d.text(), LeftOut, "", "%s", err)
		}
		if len(files) == 0 {
			r.report.add(d.place, d.text(), Unneeded, "", "there is no such file here")
		}
	}
	for _, name := range files {
		if r.included++; r.included > maxIncludes {
			r.report.add(d.place, d.text(), LeftOut, "", "%s", errNesting)
			return all
		}
		text, err := r.source.Files.ReadFile(name)
		if err != nil {
			r.report.add(d.place, d.text(), Supply, "", "%s: the file is not read: put its content there", err)
			continue
		}
		r.report.add(d.place, d.text(), Converted, "the content of "+name, "")
		all = append(all, r.file(name, text, p.depth+1)...)
	}
	return all
}
