package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Error is a mistake in a configuration file.
type Error struct {
	File   string // the name that was given to Load or Parse
	Line   int    // counted from 1
	Column int    // in characters, counted from 1
	Text   string // what is wrong, and what to write instead

	err   error
	order int // of the file, among those of the configuration
}

// Error returns "file:line:column: text".
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Unwrap returns the error of the system behind e, or nil.
func (e *Error) Unwrap() error { return e.err }

// mostErrors limits the reported errors. More would not help.
const mostErrors = 100_000

// report collects the errors of a configuration.
type report struct {
	errs []*Error
	more int // errors beyond mostErrors
	last document
	// inSets has the problems of sets of defaults, which are not repeated for each entry that inherits them.
	inSets map[Error]bool
}

func (r *report) add(in *document, at position, format string, args ...any) {
	r.addText(in, at, fmt.Errorf(format, args...).Error(), nil)
}

// addText adds an error. err is the system's error behind it, or nil.
func (r *report) addText(in *document, at position, text string, err error) {
	e := &Error{File: in.file, Line: at.Line, Column: at.Column, Text: text, err: err, order: in.order}
	if len(r.errs) < mostErrors {
		r.errs = append(r.errs, e)
	} else {
		r.more++
		r.last = *in
	}
}

// problem adds a problem found by [Config.Validate], unless its setting could not be read. For a value that an entry
// has inherited, the error is where it is written, and names the entry.
func (r *report) problem(top *place, p Problem) {
	at, _, failed := top.find(p.Path)
	if failed {
		return
	}
	text := p.String()
	if p.Other != "" {
		other, _, _ := top.find(p.Other)
		text += "; see " + other.String()
	}
	if at.in.set != nil {
		if r.inSets[Error{File: at.in.file, Line: at.at.Line, Column: at.at.Column, Text: text}] {
			return
		}
		text += "; inherited by " + top.nearestOwn(p.Path).String()
	}
	r.addText(at.in, at.at, text, p.Err)
}

// setProblem adds a problem of a set of defaults, if that is where its value is written.
func (r *report) setProblem(top *place, p Problem) {
	at, exact, failed := top.find(p.Path)
	if failed || !exact {
		return
	}
	if r.inSets == nil {
		r.inSets = map[Error]bool{}
	}
	r.inSets[Error{File: at.in.file, Line: at.at.Line, Column: at.at.Column, Text: p.String()}] = true
	r.addText(at.in, at.at, p.String(), p.Err)
}

// joined joins the errors in the order of the files. Without errors it returns nil.
func (r *report) joined() error {
	slices.SortStableFunc(r.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	errs := make([]error, len(r.errs))
	for i, e := range r.errs {
		errs[i] = e
	}
	if r.more > 0 {
		errs = append(errs, fmt.Errorf("%s: %d further errors", r.last.file, r.more))
	}
	return errors.Join(errs...)
}
