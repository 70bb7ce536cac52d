package config

import (
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/reactord/reactord/cmd/reactord/internal/yamltree"
)

type position = yamltree.Position

// document is a file of the configuration, or a set of defaults in it.
type document struct {
	file  string
	order int     // of the file, among those of the configuration
	set   *string // name of the set of defaults, or nil
	// surplus has further entries of the mapping at a position: see parseTokens.
	surplus map[position][]*ast.MappingValueNode
}

// place has the positions of a setting and of its contents in the file. It is nil for a setting that the file does not
// have.
type place struct {
	in      *document
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
	made := &place{in: p.in, at: at}
	p.fields[key] = made
	return made
}

// entry adds the place of the next entry of a list.
func (p *place) entry(at position) *place {
	made := &place{in: p.in, at: at}
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

// nearestOwn returns the place of the setting at a path, or of its nearest parent, that is not inherited from a set of
// defaults.
func (p *place) nearestOwn(path string) *place {
	for {
		if found, _, _ := p.find(path); found.in.set == nil || path == "" {
			return found
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
}

// String returns "FILE:LINE:COLUMN".
func (p *place) String() string {
	return p.in.file + ":" + strconv.Itoa(p.at.Line) + ":" + strconv.Itoa(p.at.Column)
}

// Places has the positions of the settings of a [Config] in its files.
type Places struct {
	top      *place
	files    []File
	includes []string
}

// Files returns the files that were read, or should have been, without standard input.
func (s *Places) Files() []File { return s.files }

// Includes returns the paths, directories and patterns of all include settings: see [Included].
func (s *Places) Includes() []string { return s.includes }

// Errors joins one [*Error] for each of the problems of a [Config] returned by [Load]. Without problems it returns
// nil.
func (s *Places) Errors(problems []Problem) error {
	var r report
	for _, p := range problems {
		r.problem(s.top, p)
	}
	return r.joined()
}

// Place returns "FILE:LINE:COLUMN" of the setting at a path of a [Problem], or of its nearest parent in the file.
func (s *Places) Place(path string) string {
	found, _, _ := s.top.find(path)
	return found.String()
}

// Origin describes where the value of a setting comes from: "FILE:LINE", with ", environment" if it contains a
// variable, and ", defaults" or ", defaults NAME" if it is inherited from a set; or "default".
func (s *Places) Origin(path string) string {
	found, exact, _ := s.top.find(path)
	if !exact {
		return "default"
	}
	text := found.in.file + ":" + strconv.Itoa(found.at.Line)
	if found.env {
		text += ", environment"
	}
	if set := found.in.set; set != nil {
		text += strings.TrimSuffix(", defaults "+*set, " ")
	}
	return text
}
