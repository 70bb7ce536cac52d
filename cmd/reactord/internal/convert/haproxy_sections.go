package convert

import (
	"slices"
	"strings"
)

// hapSections has the words that begin a section.
var hapSections = []string{
	"global", "defaults", "frontend", "backend", "listen", "peers", "resolvers", "userlist", "mailers", "cache",
	"program", "http-errors", "ring", "log-forward", "fcgi-app", "crt-store", "traces", "acme", "log-profile",
}

func isSection(word string) bool { return slices.Contains(hapSections, word) }

// hapSection is a section with its lines.
type hapSection struct {
	at    *hapLine
	kind  string
	name  string
	from  string // the defaults that it names
	base  *hapSection
	lines []*hapLine
}

// all returns the lines of a section after those that it inherits.
func (s *hapSection) all() []*hapLine {
	if s == nil {
		return nil
	}
	var chain []*hapSection
	for d := s; d != nil && len(chain) < maxNesting; d = d.base {
		chain = append(chain, d)
	}
	var lines []*hapLine
	for _, d := range slices.Backward(chain) {
		lines = append(lines, d.lines...)
	}
	return lines
}

// hapReader splits a file into sections.
type hapReader struct {
	report   *Report
	env      env
	ifs      conditions
	sections []*hapSection
	defaults *hapSection            // the last one
	named    map[string]*hapSection // defaults by their names
}

// read reads all sections of a file.
func (r *hapReader) read(name, text string) {
	r.named = map[string]*hapSection{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		r.line(place{name, number}, line)
	}
	for _, b := range r.ifs.open {
		r.report.add(b.at, ".if", LeftOut, "", "there is no .endif")
	}
}

func (r *hapReader) line(at place, text string) {
	l := &hapLine{place: at, text: clip(text)}
	r.env.missing = func(name string) {
		r.report.add(at, "$"+name, Supply, "", "the variable is not set here, and was taken as empty: run convert with it "+
			"in the environment")
	}
	r.env.used = func(name, value string) {
		r.report.add(at, "$"+name, Differs, "", "the value is that of this environment: %s", clip(value))
	}
	if !r.ifs.active() { // variables of lines that are not read may be missing
		r.env.missing, r.env.used = nil, nil
	}
	words, err := splitWords(text, &r.env)
	if l.words = words; len(words) == 0 && err == nil {
		return
	}
	switch {
	case err != nil && r.ifs.active():
		r.report.add(at, text, LeftOut, "", "%s", err)
	case err != nil:
	case strings.HasPrefix(words[0], "."):
		r.directive(l)
	case !r.ifs.active():
		r.report.add(at, text, Unneeded, "", "the condition before it does not hold")
	case isSection(words[0]):
		r.begin(l)
	case len(r.sections) == 0:
		r.report.add(at, text, LeftOut, "", "it is outside of a section")
	default:
		s := r.sections[len(r.sections)-1]
		s.lines = append(s.lines, l)
		if s.kind == "global" {
			r.setenv(l)
		}
	}
}

func (r *hapReader) directive(l *hapLine) {
	switch l.words[0] {
	case ".if", ".elif", ".else", ".endif":
		if problem := r.ifs.directive(l, &r.env); problem != "" {
			r.report.add(l.place, l.text, LeftOut, "", "%s", problem)
		}
	case ".notice", ".warning", ".alert", ".diag":
		if r.ifs.active() {
			r.report.add(l.place, l.text, Unneeded, "", "a message of the file itself")
		}
	default:
		r.report.add(l.place, l.text, LeftOut, "", "the directive is unknown")
	}
}

// setenv applies setenv, presetenv, unsetenv and resetenv, which later lines see.
func (r *hapReader) setenv(l *hapLine) {
	name := l.word(1)
	switch l.words[0] {
	case "presetenv":
		if _, ok := r.env.get(name); ok {
			return
		}
		r.env.own[name] = l.word(2)
	case "setenv":
		r.env.own[name] = l.word(2)
	case "unsetenv":
		for _, name := range l.rest(1) {
			delete(r.env.own, name)
		}
	}
}

// begin begins a section.
func (r *hapReader) begin(l *hapLine) {
	s := &hapSection{at: l, kind: l.words[0], base: r.defaults}
	words := l.rest(1)
	if i := slices.Index(words, "from"); i >= 0 && i+1 < len(words) {
		s.from = words[i+1]
		if words = words[:i:i]; r.named[s.from] == nil {
			r.report.add(l.place, l.text, LeftOut, "", "there are no defaults %s above", s.from)
		} else {
			s.base = r.named[s.from]
		}
	}
	if len(words) > 0 {
		s.name = words[0]
	}
	switch s.kind {
	case "defaults":
		if s.from == "" {
			s.base = nil
		}
		if s.name != "" {
			r.named[s.name] = s
		}
		r.defaults = s
	case "frontend", "backend", "listen":
		if len(words) > 1 { // frontend NAME ADDRESS, of old versions
			bind := *l
			bind.words = append([]string{"bind"}, words[1:]...)
			s.lines = append(s.lines, &bind)
		}
	default:
		s.base = nil
	}
	r.sections = append(r.sections, s)
}
