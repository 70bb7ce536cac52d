package convert

import (
	"errors"
	"strconv"
	"strings"
)

// hapLine is a line of an HAProxy configuration.
type hapLine struct {
	place

	text  string   // as it is written
	words []string // without quotes and escapes
}

// word returns the word at i, or "".
func (l *hapLine) word(i int) string {
	if i < len(l.words) {
		return l.words[i]
	}
	return ""
}

// rest returns the words from i on.
func (l *hapLine) rest(i int) []string { return l.words[min(i, len(l.words)):] }

// env looks up the variables of a configuration.
type env struct {
	own     map[string]string // set by the configuration
	outside func(string) (string, bool)
	missing func(name string) // is called for a variable that is not set and has no default
	used    func(name, value string)
}

func (e *env) get(name string) (string, bool) {
	if v, ok := e.own[name]; ok {
		return v, true
	}
	if e.outside == nil {
		return "", false
	}
	v, ok := e.outside(name)
	if ok && e.used != nil {
		e.used(name, v)
	}
	return v, ok
}

var (
	errQuote    = errors.New("a quote is not closed")
	errVariable = errors.New("the name of a variable is not valid")
)

// splitWords splits a line as HAProxy does (configuration manual, 2.2 and 2.3): backslashes escape outside single
// quotes, variables are expanded within double quotes, and "#" outside quotes begins a comment.
func splitWords(line string, vars *env) ([]string, error) {
	s := splitter{rest: strings.TrimRight(line, "\r\n"), vars: vars}
	for s.rest != "" {
		if done, err := s.next(); err != nil || done {
			s.end()
			return s.words, err
		}
	}
	s.end()
	if s.quote != 0 {
		return s.words, errQuote
	}
	return s.words, nil
}

type splitter struct {
	rest  string
	vars  *env
	words []string
	word  strings.Builder
	open  bool // a word has begun, which may be empty
	quote byte // that is open, or 0
}

func (s *splitter) end() {
	if s.open {
		s.words = append(s.words, s.word.String())
		s.word.Reset()
		s.open = false
	}
}

// next takes a character, an escape or a variable. It reports a comment, which ends the line.
func (s *splitter) next() (done bool, err error) {
	c := s.rest[0]
	switch {
	case c == '#' && s.quote == 0:
		return true, nil
	case (c == '"' || c == '\'') && (s.quote == 0 || s.quote == c):
		s.open = true
		s.quote ^= c // opens or closes
		s.rest = s.rest[1:]
		return false, nil
	case c == '\\' && s.quote != '\'':
		s.escape()
		return false, nil
	case (c == ' ' || c == '\t') && s.quote == 0:
		s.end()
		s.rest = s.rest[1:]
		return false, nil
	case c == '$' && s.quote == '"':
		return false, s.variable()
	}
	s.put(s.rest[:1], 1)
	return false, nil
}

func (s *splitter) put(text string, taken int) {
	s.open = true
	s.word.WriteString(text)
	s.rest = s.rest[taken:]
}

// escapes has what a backslash and a letter stand for.
var escapes = map[byte]string{
	' ': " ", '\\': `\`, '#': "#", '\'': "'", '"': `"`, '$': "$", '\t': "\t", 'n': "\n", 'r': "\r", 't': "\t",
}

func (s *splitter) escape() {
	if len(s.rest) < 2 {
		s.put(`\`, 1)
		return
	}
	if s.rest[1] == 'x' && len(s.rest) >= 4 {
		if n, err := strconv.ParseUint(s.rest[2:4], 16, 8); err == nil {
			s.put(string([]byte{byte(n)}), 4)
			return
		}
	}
	if text, ok := escapes[s.rest[1]]; ok {
		s.put(text, 2)
		return
	}
	s.put(`\`, 1) // an unknown escape is left as it is
}

// variable expands $NAME, ${NAME}, ${NAME-default} and ${NAME[*]}, whose value is split into words.
func (s *splitter) variable() error {
	rest := s.rest[1:]
	braces := strings.HasPrefix(rest, "{")
	if braces {
		rest = rest[1:]
	}
	n := 0
	for n < len(rest) && (isNameByte(rest[n]) || n == 0 && rest[n] == '.') {
		n++
	}
	name := rest[:n]
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return errVariable
	}
	rest = rest[n:]
	value, found := s.vars.get(name)
	if braces {
		inside, after, closed := strings.Cut(rest, "}")
		if !closed {
			return errVariable
		}
		rest = after
		list := false
		if inside, list = strings.CutPrefix(inside, "[*]"); list && found {
			return s.list(value, rest)
		}
		if text, ok := strings.CutPrefix(inside, "-"); ok && !found {
			value, found = text, true
		}
	}
	if !found && s.vars.missing != nil {
		s.vars.missing(name)
	}
	s.rest = rest
	s.put(value, 0)
	return nil
}

// list puts the words of a value, each as a word.
func (s *splitter) list(value, rest string) error {
	for i, word := range strings.Fields(value) {
		if i > 0 {
			s.end()
		}
		s.put(word, 0)
	}
	s.rest = rest
	return nil
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}
