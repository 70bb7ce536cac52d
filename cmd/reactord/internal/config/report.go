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

	err error
}

// Error returns "file:line:column: text".
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Unwrap returns the error of the system behind e, or nil.
func (e *Error) Unwrap() error { return e.err }

// mostErrors limits the reported errors of a file. More would not help.
const mostErrors = 100_000

// report collects the errors of a file.
type report struct {
	file string
	errs []*Error
	more int // errors beyond mostErrors
}

func (r *report) add(at position, format string, args ...any) {
	r.addText(at, fmt.Errorf(format, args...).Error(), nil)
}

// addText adds an error. err is the system's error behind it, or nil.
func (r *report) addText(at position, text string, err error) {
	e := &Error{File: r.file, Line: at.Line, Column: at.Column, Text: text, err: err}
	if len(r.errs) < mostErrors {
		r.errs = append(r.errs, e)
	} else {
		r.more++
	}
}

// problem adds a problem found by [Config.Validate], unless its setting could not be read.
func (r *report) problem(top *place, p Problem) {
	at, _, failed := top.find(p.Path)
	if failed {
		return
	}
	text := p.String()
	if p.Other != "" {
		other, _, _ := top.find(p.Other)
		text += fmt.Sprintf("; see %s:%d:%d", r.file, other.at.Line, other.at.Column)
	}
	r.addText(at.at, text, p.Err)
}

// joined joins the errors in the order of the file. Without errors it returns nil.
func (r *report) joined() error {
	slices.SortStableFunc(r.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	errs := make([]error, len(r.errs))
	for i, e := range r.errs {
		errs[i] = e
	}
	if r.more > 0 {
		errs = append(errs, fmt.Errorf("%s: %d further errors", r.file, r.more))
	}
	return errors.Join(errs...)
}
