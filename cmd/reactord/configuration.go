package main

import (
	"context"
	"errors"
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

	stamp atomic.Pointer[stamp] // of the file as it was last read; nil: it could not be read
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
	c.stamp.Store(stampOf(c.path)) // before it is read, so that what is written meanwhile is noticed
	cfg, source, err := config.Load(c.path)
	if err != nil {
		return nil, err
	}
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
	return &f, lookUp(ctx, &f)
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

// is reports whether both are of one version of a file.
func (s *stamp) is(other *stamp) bool { return s == other || s != nil && other != nil && *s == *other }
