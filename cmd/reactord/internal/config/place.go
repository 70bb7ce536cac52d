package config

import (
	"strconv"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/yamltree"
)

type position = yamltree.Position

// place has the positions of a setting and of its contents in the file. It is nil for a setting that the file does not
// have.
type place struct {
	at      position // of the value
	key     position // of the key; zero for entries of lists, and for a setting whose key is misspelt
	env     bool     // the value contains an environment variable
	failed  bool     // the value could not be read, and further problems are consequences
	fields  map[string]*place
	entries []*place
}

// field adds the place of the setting with this key.
func (p *place) field(key string, at position) *place {
	if p.fields == nil {
		p.fields = map[string]*place{}
	}
	made := &place{at: at}
	p.fields[key] = made
	return made
}

// entry adds the place of the next entry of a list.
func (p *place) entry(at position) *place {
	made := &place{at: at}
	p.entries = append(p.entries, made)
	return made
}

// child returns the place of a setting in p, or nil. p may be nil.
func (p *place) child(key string) *place {
	if p == nil {
		return nil
	}
	return p.fields[key]
}

// nth returns the place of an entry of p, or nil. p may be nil.
func (p *place) nth(i int) *place {
	if p == nil || i >= len(p.entries) {
		return nil
	}
	return p.entries[i]
}

// find returns the place of the setting at a path such as "backends[0].servers[1].address". If the file does not have
// it, exact is false, and the place is that of its nearest parent. failed reports whether a place on the way has
// failed.
func (p *place) find(path string) (found *place, exact, failed bool) {
	found, failed = p, p.failed
	for path != "" {
		next := found
		if rest, ok := strings.CutPrefix(path, "["); ok {
			index, after, _ := strings.Cut(rest, "]")
			i, err := strconv.Atoi(index)
			if err != nil {
				return found, false, failed
			}
			next, path = found.nth(i), strings.TrimPrefix(after, ".")
		} else {
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			next, path = found.child(path[:end]), strings.TrimPrefix(path[end:], ".")
		}
		if next == nil {
			return found, false, failed
		}
		found, failed = next, failed || next.failed
	}
	return found, true, failed
}

// Places has the positions of the settings of a [Config] in its file.
type Places struct {
	file string
	top  *place
}

// Errors joins one [*Error] for each of the problems of a [Config] returned by [Load]. Without problems it returns
// nil.
func (s *Places) Errors(problems []Problem) error {
	r := report{file: s.file}
	for _, p := range problems {
		r.problem(s.top, p)
	}
	return r.joined()
}

// Place returns "FILE:LINE:COLUMN" of the setting at a path of a [Problem], or of its nearest parent in the file.
func (s *Places) Place(path string) string {
	found, _, _ := s.top.find(path)
	return s.file + ":" + strconv.Itoa(found.at.Line) + ":" + strconv.Itoa(found.at.Column)
}

// Origin describes where the value of a setting comes from: "FILE:LINE", "FILE:LINE, environment" if it contains a
// variable, or "default".
func (s *Places) Origin(path string) string {
	found, exact, _ := s.top.find(path)
	if !exact {
		return "default"
	}
	return s.origin(found)
}

func (s *Places) origin(p *place) string {
	text := s.file + ":" + strconv.Itoa(p.at.Line)
	if p.env {
		text += ", environment"
	}
	return text
}
