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
	"github.com/reactord/reactord/cmd/reactord/internal/source/fetch"
)

// FileInterval separates two reads of a file. A file has a few kilobytes, so polling costs less than a watch is
// complicated, and works for every rename, symbolic link and file system.
const FileInterval = 2 * time.Second

// maxFiles limits the files that match a pattern.
const maxFiles = 1000

// lookupTimeout limits the lookups of names in a file.
const lookupTimeout = 30 * time.Second

// File reads servers from a file, or from all files that match a pattern. Replace files by a rename: one that is
// written in place may be read half-written.
//
// Files whose name ends in ".json" are JSON, all others YAML. An invalid file keeps its last servers. So does a
// missing file that is named in the settings; one that no longer matches a pattern is dropped.
type File struct {
	stats
	path     string
	interval time.Duration
	lookup   lookupFunc
	contents map[string]*content // by path; used by attempts only
}

// content is the last content of a file.
type content struct {
	data    []byte
	err     error         // result for data
	servers []plan.Server // from the last valid data; nil if there was none
}

// NewFile returns the source for a file or a pattern.
func NewFile(cfg config.FileDiscovery) *File {
	return &File{path: cfg.Path, interval: FileInterval, lookup: lookupHost, contents: map[string]*content{}}
}

// Name returns "file PATH".
func (f *File) Name() string { return "file " + f.path }

// Run reads the files every few seconds.
func (f *File) Run(ctx context.Context, report Report) {
	p := poller{stats: &f.stats, Pace: fetch.Pace{First: f.interval}, attempt: func(ctx context.Context) outcome {
		out := f.attempt(ctx)
		out.next = f.interval // cheap, and somebody may be fixing the file
		return out
	}}
	p.run(ctx, report)
}

// attempt reads all files once.
func (f *File) attempt(ctx context.Context) outcome {
	paths, err := f.match()
	if err != nil {
		return outcome{err: fmt.Errorf("file %s: %w", f.path, err)}
	}
	var all []plan.Server
	var errs []error
	kept := map[string]*content{}
	for _, path := range paths {
		c := f.contents[path]
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
	f.contents = kept
	if len(all) > maxServers {
		return outcome{err: fmt.Errorf("file %s: %w", f.path, errTooMany)}
	}
	return outcome{servers: unique(all), err: joined(errs)}
}

// match returns the files. A pattern without a match is an error: the directory is more likely missing than empty.
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
		return c.err // unchanged data is parsed again only after a failed lookup
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

// place adds the name of the file to an error.
func (f *File) place(path string, err error) error {
	if at, ok := errors.AsType[*contentError](err); ok {
		return fmt.Errorf("%s:%w", path, at)
	}
	return err // errors of package os name the file
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
