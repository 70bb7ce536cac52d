package admin

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// Problem is the answer to a failed request, by RFC 9457. It is also an error.
type Problem struct {
	Type   string  `json:"type" doc:"Always about:blank: the status is the type of the problem."`
	Title  string  `json:"title" doc:"The name of the status."`
	Status int     `json:"status" doc:"The status of the answer."`
	Detail string  `json:"detail" doc:"What is wrong, and what to do."`
	Errors []Place `json:"errors,omitempty" doc:"Each error, if there are several or they have a place."`
}

// Error returns the detail, or the errors with their places, one per line.
func (p *Problem) Error() string {
	if len(p.Errors) == 0 {
		return p.Detail
	}
	lines := make([]string, len(p.Errors))
	for i, e := range p.Errors {
		lines[i] = e.String()
	}
	return strings.Join(lines, "\n")
}

// String returns "file:line:column: text".
func (p Place) String() string {
	if p.File == "" {
		return p.Text
	}
	return (&config.Error{File: p.File, Line: p.Line, Column: p.Column, Text: p.Text}).Error()
}

const problemType = "application/problem+json"

func problem(status int, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
}

// problemOf returns the answer for an error of a handler.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	status := http.StatusUnprocessableEntity
	switch {
	case errors.Is(err, ErrNotFound):
		status = http.StatusNotFound
	case errors.Is(err, ErrConflict):
		status = http.StatusConflict
	case errors.Is(err, ErrUnsupported):
		status = http.StatusNotImplemented
	case isTimeout(err):
		status = http.StatusGatewayTimeout
	}
	p := problem(status, err.Error())
	if places := Places(err); len(places) > 1 || len(places) == 1 && places[0].File != "" {
		p.Errors = places
		p.Detail = places[0].String()
	}
	return p
}

// Places returns the errors that err joins, with their places in the configuration file, if any.
func Places(err error) []Place {
	switch e := err.(type) { //nolint:errorlint // it walks the tree itself, to find all
	case nil:
		return nil
	case *config.Error:
		return []Place{{e.File, e.Line, e.Column, e.Text}}
	case interface{ Unwrap() []error }:
		var all []Place
		for _, each := range e.Unwrap() {
			all = append(all, Places(each)...)
		}
		if err.Error() == errors.Join(e.Unwrap()...).Error() {
			return all
		}
		// An error that wraps several, such as a kind and a cause.
		if all = slices.DeleteFunc(all, func(p Place) bool { return p.File == "" }); len(all) > 0 {
			return all
		}
	}
	if inner := errors.Unwrap(err); inner != nil {
		if places := Places(inner); len(places) > 1 || len(places) == 1 && places[0].File != "" {
			return places
		}
	}
	return []Place{{Text: err.Error()}}
}

func (p *Problem) write(w http.ResponseWriter) {
	text, _ := json.Marshal(p) // strings and numbers
	write(w, p.Status, problemType, append(text, '\n'))
}

// write answers with a complete body, in parts.
func write(w http.ResponseWriter, status int, contentType string, body ...[]byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	for _, part := range body {
		if _, err := w.Write(part); err != nil {
			return // the client has gone
		}
	}
}
