// Package list reads the texts that sets of networks and of server names come from.
//
// A text has one entry a line: a network or an address, or a name such as "example.org" and "*.example.org". "#" and
// ";" begin comments, and empty lines are skipped. One line that is wrong spoils the text: nothing of it is taken.
package list

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/sets/nameset"
	"github.com/reactord/reactord/cmd/reactord/internal/sets/netset"
)

// List is the contents of a text. It is immutable. Of the two sets, that of the other type is nil.
type List struct {
	Networks *netset.Set
	Names    *nameset.Set
	Entries  int // as written, with those that are in another one
}

// Key identifies the list of a file of a set.
type Key struct{ Set, Path string }

// Of returns the list of entries that are in the form of [config.SetType.ParseSetEntry].
func Of(kind config.SetType, entries []string) *List {
	b := NewBuilder(kind)
	for _, e := range entries {
		_ = b.Add(e)
	}
	return b.List()
}

// Builder collects the entries of a [List].
type Builder struct {
	kind     config.SetType
	networks netset.Builder
	names    nameset.Builder
}

// NewBuilder returns an empty builder of lists of a type.
func NewBuilder(kind config.SetType) *Builder { return &Builder{kind: kind} }

// Add adds an entry, or returns what is wrong with it.
func (b *Builder) Add(text string) error {
	if b.kind == config.NameSet {
		name, err := b.kind.ParseSetEntry(text)
		if err == nil {
			b.names.Add(name)
		}
		return err
	}
	p, err := config.ParseNetwork(text)
	if err == nil {
		b.networks.Add(p)
	}
	return err
}

// AddNetwork adds a network.
func (b *Builder) AddNetwork(p netip.Prefix) { b.networks.Add(p) }

// List returns the list, and empties the builder.
func (b *Builder) List() *List {
	if b.kind == config.NameSet {
		n := b.names.Len()
		return &List{Names: b.names.Set(), Entries: n}
	}
	n := b.networks.Len()
	return &List{Networks: b.networks.Set(), Entries: n}
}

// Bytes returns the memory that the list takes.
func (l *List) Bytes() int { return l.Networks.Bytes() + l.Names.Bytes() }

// Error is a line that is no entry.
type Error struct {
	Line int
	Err  error
}

// Error returns "LINE: text".
func (e *Error) Error() string { return fmt.Sprintf("%d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Errors of texts. [ErrTooLarge] matches those of a text or a line that is too large.
var (
	ErrTooLarge = errors.New("too large")
	ErrTooFew   = errors.New("too few entries")
)

// maxLine is the longest line, with its comment.
const maxLine = 4 << 10

// Read reads a text. It fails if that is larger than s.MaxSize, or has fewer entries than s.MinEntries; then the error
// matches [ErrTooLarge] or [ErrTooFew]. An [*Error] says which line is wrong. Other errors are of r.
func Read(r io.Reader, s *config.Set) (*List, error) {
	b := NewBuilder(s.Type)
	left := int64(s.MaxSize)
	lines := bufio.NewReaderSize(io.LimitReader(r, left+1), maxLine)
	for number := 1; ; number++ {
		line, err := lines.ReadSlice('\n')
		if left -= int64(len(line)); left < 0 {
			return nil, fmt.Errorf("%w: the text has more than max_size, %s", ErrTooLarge, s.MaxSize)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, &Error{number, fmt.Errorf("%w: the line has more than %d bytes", ErrTooLarge, maxLine)}
		}
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")) // a byte order mark
		}
		if entry := trim(line); len(entry) != 0 {
			if err := b.Add(string(entry)); err != nil {
				return nil, &Error{number, err}
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return b.listOf(s)
		case err != nil:
			return nil, err
		}
	}
}

// listOf returns the list if it has enough entries.
func (b *Builder) listOf(s *config.Set) (*List, error) {
	l := b.List()
	if l.Entries < s.MinEntries {
		return nil, fmt.Errorf("%w: the text has %d, and min_entries is %d", ErrTooFew, l.Entries, s.MinEntries)
	}
	return l, nil
}

// trim returns the entry of a line, without comments.
func trim(line []byte) []byte {
	if i := bytes.IndexAny(line, "#;"); i >= 0 {
		line = line[:i]
	}
	return bytes.TrimSpace(line)
}

// ReadFile reads a file like [Read]. Errors name the file, and the line.
func ReadFile(path string, s *config.Set) (*List, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	l, err := Read(f, s)
	if wrong, ok := errors.AsType[*Error](err); ok {
		return nil, fmt.Errorf("%s:%w", path, wrong)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}
