package discovery

import "fmt"

// value is a value of a JSON or YAML file with its place.
type value struct {
	kind   kind
	text   string   // of a scalar
	keys   []string // of a mapping
	items  []value  // of a list; of a mapping, the values of its keys
	line   int      // counted from 1
	column int      // in characters (JSON: in bytes), counted from 1
}

// kind is the kind of a value.
type kind uint8

const (
	null kind = iota
	scalar
	list
	mapping
)

func (k kind) String() string { return [...]string{"null", "text", "a list", "a mapping"}[k] }

// maxDepth limits the nesting of values: a target group needs 4.
const maxDepth = 8

// maxValues limits the values of a target group: its targets, its labels, and what is ignored.
const maxValues = 2 * maxServers

// contentError is an error in a file or an answer, with its place.
type contentError struct {
	line, column int
	text         string
	err          error // cause, or nil
}

func (e *contentError) Error() string { return fmt.Sprintf("%d:%d: %s", e.line, e.column, e.text) }

func (e *contentError) Is(target error) bool { return target == errInvalid && e.err == nil }

func (e *contentError) Unwrap() error { return e.err }

// wrong returns an error at the place of v.
func (v *value) wrong(format string, args ...any) error {
	return &contentError{line: v.line, column: v.column, text: fmt.Sprintf(format, args...)}
}

// add adds a key with its value, or returns an error if the mapping already has the key.
func (v *value) add(key string, child value) error {
	for i, k := range v.keys {
		if k == key {
			return child.wrong("%q is already set in line %d", key, v.items[i].line)
		}
	}
	if len(v.keys) == maxKeys {
		return child.wrong("more than %d keys", maxKeys)
	}
	v.keys = append(v.keys, key)
	v.items = append(v.items, child)
	return nil
}

// maxKeys limits the keys of a mapping, and with them the time to find duplicates.
const maxKeys = 256
