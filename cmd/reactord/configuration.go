package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// configuration is where the daemon's configuration comes from: a file, or flags.
type configuration struct {
	path  string // of the file; "" for flags, "-" for standard input
	first *plan.File
	began bool // first was taken

	identity identity // for the control plane

	warn   func(string)           // is told what is unusual; may be nil
	stamps atomic.Pointer[stamps] // of the file, and of those that it names, as they were last read
}

// errStandardInput is the error of a reload.
var errStandardInput = errors.New("the configuration was read from standard input, which cannot be read again")

// fromFlags is the configuration that flags have made.
func fromFlags(cfg *config.Config) *configuration {
	return &configuration{first: &plan.File{Config: cfg, Errors: flagErrors}}
}

// fromFile reads a file.
func fromFile(path string) (*configuration, error) {
	c := &configuration{path: path}
	f, err := c.read()
	c.first = f
	return c, err
}

// read reads the file. It does not look up names.
func (c *configuration) read() (*plan.File, error) {
	files := c.look() // before they are read, so that what is written meanwhile is noticed
	cfg, source, err := loadFile(c.path)
	if err != nil {
		c.stamps.Store(&files)
		return nil, err
	}
	named := stampsOf(keyFiles(cfg))
	named[c.path] = files[c.path]
	c.stamps.Store(&named)
	return &plan.File{Config: cfg, Errors: source.Errors, Place: source.Place, Origin: source.Origin}, nil
}

// load is the file as it is now, with the addresses of its names as they are now. The first call has the file that
// was read already. One goroutine calls it at a time.
func (c *configuration) load(ctx context.Context) (*plan.File, error) {
	f := *c.first
	switch {
	case !c.began || c.path == "":
		c.began = true
	case c.path == "-":
		return nil, errStandardInput
	default:
		now, err := c.read()
		if err != nil {
			return nil, err
		}
		f = *now
	}
	f.Own = c.identity.ownAddresses()
	if err := readKeys(&f, c.warn); err != nil {
		return nil, err
	}
	if err := lookUp(ctx, &f); err != nil {
		return nil, err
	}
	warnOfSharedAddresses(&f, c.warn)
	return &f, nil
}

// lookUp looks up the names of a file.
func lookUp(ctx context.Context, f *plan.File) error {
	found, problems := resolve(ctx, f.Config, lookup)
	if err := ctx.Err(); err != nil {
		return err
	}
	f.Addresses = found
	return f.Errors(problems)
}

// stamp tells versions of a file apart without reading it.
type stamp struct {
	device, inode uint64
	size          int64
	modified      time.Time
}

// stampOf is the stamp of a file, or of what a symbolic link leads to; nil: there is none.
func stampOf(path string) *stamp {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	s := &stamp{size: info.Size(), modified: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.device, s.inode = uint64(sys.Dev), sys.Ino //nolint:unconvert // Dev has 32 bits on some architectures
	}
	return s
}

// stamps are those of several files, by path.
type stamps map[string]*stamp

func stampsOf(paths []string) stamps {
	all := make(stamps, len(paths))
	for _, path := range paths {
		all[path] = stampOf(path)
	}
	return all
}

// look is the stamps of the same files as they are now.
func (c *configuration) look() stamps {
	now := stamps{c.path: stampOf(c.path)}
	if was := c.stamps.Load(); was != nil {
		for path := range *was {
			now[path] = stampOf(path)
		}
	}
	return now
}

// are reports whether both are of one version of the same files.
func (s stamps) are(other stamps) bool { return maps.EqualFunc(s, other, (*stamp).is) }

// is reports whether both are of one version of a file.
func (s *stamp) is(other *stamp) bool { return s == other || s != nil && other != nil && *s == *other }
