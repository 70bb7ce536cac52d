package discovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// pollInterval is the time between two readings. A file is a few kilobytes, so that reading it costs less than a watch
// is complicated: no rename, symbolic link or file system is special.
const pollInterval = 2 * time.Second

// maxFiles bounds how many files match a pattern.
const maxFiles = 1000

// lookupTimeout bounds how long the names in a file may take to be looked up.
const lookupTimeout = 30 * time.Second

// File is the source for a file, or for all files that match a pattern. A file is replaced by renaming another one:
// what is written in place may be read when half of it is written.
//
// JSON is read from files whose name ends in ".json", YAML from all others. A file that is wrong keeps the servers that
// it had. A file that no longer matches a pattern has none; one that is missing and that the setting names keeps them.
type File struct {
	stats
	path     string
	interval time.Duration
	lookup   lookupFunc
	known    map[string]*content // by path; only an attempt uses it
}

// content is what was last read from a file.
type content struct {
	data    []byte
	err     error         // of data
	servers []plan.Server // of the last data without error; nil: there was none
}

// NewFile makes the source for a file or a pattern.
func NewFile(cfg config.FileDiscovery) *File {
	return &File{path: cfg.Path, interval: pollInterval, lookup: lookupHost, known: map[string]*content{}}
}

// Name is "file PATH".
func (f *File) Name() string { return "file " + f.path }

// Run reads the files, again every few seconds.
func (f *File) Run(ctx context.Context, report Report) {
	repeat(ctx, &f.stats, f.interval, report, func(ctx context.Context) found {
		out := f.attempt(ctx)
		out.next = f.interval // reading again is cheap, and a person who mends the file waits for it
		return out
	})
}

// attempt reads all files once.
func (f *File) attempt(ctx context.Context) found {
	paths, err := f.match()
	if err != nil {
		return found{err: fmt.Errorf("file %s: %w", f.path, err)}
	}
	var all []plan.Server
	var errs []error
	kept := map[string]*content{}
	for _, path := range paths {
		c := f.known[path]
		if c == nil {
			c = &content{}
		}
		kept[path] = c
		if err := f.read(ctx, path, c); err != nil {
			errs = append(errs, err)
		}
		if c.servers != nil && all == nil {
			all = []plan.Server{}
		}
		all = append(all, c.servers...)
	}
	f.known = kept
	if len(all) > maxServers {
		return found{err: fmt.Errorf("file %s: %w", f.path, errTooMany)}
	}
	return found{servers: unique(all), err: joined(errs)}
}

// match is the files. If none matches a pattern, that is an error: the directory is more likely missing than empty.
func (f *File) match() ([]string, error) {
	if !strings.ContainsAny(filepath.Base(f.path), `*?[\`) {
		return []string{f.path}, nil
	}
	paths, err := filepath.Glob(f.path)
	switch {
	case err != nil:
		return nil, err
	case len(paths) == 0:
		return nil, fmt.Errorf("%w: no file matches the pattern", errEmpty)
	case len(paths) > maxFiles:
		return nil, fmt.Errorf("more than %d files match the pattern", maxFiles)
	}
	return paths, nil
}

// read reads a file into c.
func (f *File) read(ctx context.Context, path string, c *content) error {
	data, err := readBounded(path, maxContent)
	if err != nil {
		c.data = nil
		return f.place(path, err)
	}
	if c.data != nil && bytes.Equal(data, c.data) && (c.err == nil || errors.Is(c.err, errInvalid)) {
		return c.err // the same is read again only if a name could not be looked up
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	servers, err := f.parse(ctx, path, data)
	c.data, c.err = data, f.place(path, err)
	if err == nil {
		c.servers = servers
	}
	return c.err
}

// place is an error with the name of the file.
func (f *File) place(path string, err error) error {
	if at, ok := errors.AsType[*contentError](err); ok {
		return fmt.Errorf("%s:%w", path, at)
	}
	return err // those of package os name the file
}

func (f *File) parse(ctx context.Context, path string, data []byte) ([]plan.Server, error) {
	g := groups{
		lookup: f.lookup,
		origin: func(v *value) string { return fmt.Sprintf("file %s:%d:%d", path, v.line, v.column) },
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, &contentError{line: 1, column: 1, text: "the file is empty: for no servers write []", err: errEmpty}
	}
	if strings.HasSuffix(path, ".json") {
		return g.parse(ctx, data, parseJSON)
	}
	return g.parse(ctx, data, parseYAML)
}
