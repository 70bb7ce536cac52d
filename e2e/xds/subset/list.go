package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Treatment is how reactord treats a field that a control plane sets.
type Treatment string

// The treatments. A field without a line is refused.
const (
	Honoured Treatment = "honoured" // it has a Go field
	Ignored  Treatment = "ignored"  // it changes nothing that reactord does
	Refused  Treatment = "refused"  // the resource is refused, by the field's name
)

// List is subset.txt.
type List struct {
	Packages map[string]string // proto package -> Go package
	Messages []*Message
	section  string // of the next message
}

// Message is a message of the subset.
type Message struct {
	Name    string // its full name
	Section string // of the documentation
	Fields  []Field
	Line    int
}

// Field is a line of a message.
type Field struct {
	Name      string
	Treatment Treatment
	Remark    string
	Line      int
}

// ReadList reads subset.txt; its head says what it looks like.
func ReadList(r io.Reader) (*List, error) {
	list := &List{Packages: map[string]string{}}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		if err := list.line(n, text, words); err != nil {
			return nil, fmt.Errorf("subset.txt:%d: %w", n, err)
		}
	}
	return list, lines.Err()
}

func (l *List) line(n int, text string, words []string) error {
	indented := text[0] == ' ' || text[0] == '\t'
	switch {
	case !indented && words[0] == "package" && len(words) >= 3:
		for _, name := range words[2:] {
			l.Packages[name] = words[1]
		}
	case !indented && words[0] == "section" && len(words) >= 2:
		l.section = strings.Join(words[1:], " ")
	case !indented && words[0] == "message" && len(words) == 2:
		for _, m := range l.Messages {
			if m.Name == words[1] {
				return fmt.Errorf("message %s is listed at line %d already", m.Name, m.Line)
			}
		}
		l.Messages = append(l.Messages, &Message{Name: words[1], Section: l.section, Line: n})
	case indented && len(l.Messages) > 0 && len(words) >= 2:
		m := l.Messages[len(l.Messages)-1]
		field := Field{Name: words[0], Treatment: Treatment(words[1]), Remark: strings.Join(words[2:], " "), Line: n}
		switch field.Treatment {
		case Honoured, Ignored, Refused:
		default:
			return fmt.Errorf("treatment %q: want honoured, ignored or refused", words[1])
		}
		for _, f := range m.Fields {
			if f.Name == field.Name {
				return fmt.Errorf("field %s.%s is listed at line %d already", m.Name, f.Name, f.Line)
			}
		}
		m.Fields = append(m.Fields, field)
	default:
		return fmt.Errorf("want “package GO PROTO…”, “section TITLE”, “message NAME”, or indented FIELD TREATMENT [REMARK]")
	}
	return nil
}

// field returns the line of a field, or what is meant without one: it is refused.
func (m *Message) field(name string) Field {
	for _, f := range m.Fields {
		if f.Name == name {
			return f
		}
	}
	return Field{Name: name, Treatment: Refused}
}
