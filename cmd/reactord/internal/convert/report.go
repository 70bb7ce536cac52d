package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// Outcome says what became of a line.
type Outcome string

// The values of [Outcome].
const (
	Converted Outcome = "converted" // it is a setting
	Differs   Outcome = "differs"   // it is a setting, and something behaves differently
	Unneeded  Outcome = "unneeded"  // it has no counterpart, and needs none
	Supply    Outcome = "supply"    // the operator must supply something
	LeftOut   Outcome = "left_out"  // it could not be said
)

// outcomes has the order and the headings of the report.
var outcomes = []struct {
	Outcome
	heading string
}{
	{LeftOut, "left out, because reactord has no such setting"},
	{Supply, "to be supplied by you"},
	{Differs, "converted, with a difference"},
	{Unneeded, "not needed"},
	{Converted, "converted"},
}

// Entry is what became of a line, or of a word of it.
type Entry struct {
	File    string  `json:"file"`
	Line    int     `json:"line"`
	Source  string  `json:"source"` // the line, or the words of it that the entry is about
	Outcome Outcome `json:"outcome"`
	Setting string  `json:"setting,omitempty"` // what it became
	Text    string  `json:"text,omitempty"`    // why, or what differs
}

// Report tells what became of each line of a file.
type Report struct {
	File    string  `json:"file"`
	Kind    Kind    `json:"kind"`
	Entries []Entry `json:"entries"`

	known map[Entry]bool
}

// place is a line of a file.
type place struct {
	file string
	line int
}

// add adds an entry, once.
func (r *Report) add(at place, source string, o Outcome, setting, format string, args ...any) {
	e := Entry{at.file, at.line, clip(source), o, setting, fmt.Sprintf(format, args...)}
	if r.known == nil {
		r.known = map[Entry]bool{}
	}
	if r.known[e] {
		return
	}
	r.known[e] = true
	r.Entries = append(r.Entries, e)
}

// finish orders the entries by their place, and removes those that say less than another one about the same words.
func (r *Report) finish() {
	slices.SortStableFunc(r.Entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Source, b.Source),
			cmp.Compare(a.Setting, b.Setting))
	})
	type words struct {
		file, source string
		line         int
	}
	of := func(e *Entry) words { return words{e.File, e.Source, e.Line} }
	more := map[words]bool{}
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Outcome != Converted && e.Outcome != Unneeded {
			more[of(e)] = true
		}
	}
	r.Entries = slices.DeleteFunc(r.Entries, func(e Entry) bool {
		return more[of(&e)] && (e.Outcome == Converted && e.Setting != "listeners" || e.Outcome == Unneeded)
	})
}

// Count returns the number of entries with an outcome.
func (r *Report) Count(o Outcome) (n int) {
	for i := range r.Entries {
		if r.Entries[i].Outcome == o {
			n++
		}
	}
	return n
}

// WriteJSON writes the report as a JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	all := *r
	if all.Entries == nil {
		all.Entries = []Entry{}
	}
	return e.Encode(all)
}

// WriteText writes the report for people: what needs them first.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, o := range outcomes {
		if r.Count(o.Outcome) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s:\n", o.heading)
		for i := range r.Entries {
			if e := &r.Entries[i]; e.Outcome == o.Outcome {
				fmt.Fprintf(&b, "  %s\n", e)
			}
		}
	}
	fmt.Fprintf(&b, "%s: %d converted, %d with a difference, %d to supply, %d left out\n", printable(r.File),
		r.Count(Converted)+r.Count(Differs), r.Count(Differs), r.Count(Supply), r.Count(LeftOut))
	_, err := io.WriteString(w, b.String())
	return err
}

// String formats an entry on one line.
func (e *Entry) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: ", e.File, e.Line)
	b.WriteString(e.Source)
	if e.Setting != "" {
		if e.Source != "" {
			b.WriteString(" → ")
		}
		b.WriteString(e.Setting)
	}
	if e.Text != "" {
		b.WriteString(": " + e.Text)
	}
	return printable(b.String())
}

// maxSource limits the text of a line in the report.
const maxSource = 100

// clip shortens a line for the report.
func clip(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if runes := []rune(s); len(runes) > maxSource {
		s = string(runes[:maxSource]) + "…"
	}
	return s
}

// printable replaces what a terminal would interpret.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}
