package loader

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// Loader reads the daemon's configuration, from a file or once from flags. One goroutine at a time calls its methods,
// except that Path and Watch may be called from any.
type Loader struct {
	// Warn receives what is unusual. It may be nil. Set it before the first Load.
	Warn func(text string)
	// Own returns further addresses that this process answers at. It may be nil. Set it before the first Load.
	Own func() []plan.OwnAddress

	path  string // of the file; "" for flags, "-" for standard input
	first *plan.File
	began bool // first was taken

	seen atomic.Pointer[seen] // when the file was last read
}

// ErrStandardInput reports a reload of standard input.
var ErrStandardInput = errors.New("the configuration was read from standard input, which cannot be read again")

// FromConfig returns the loader of a configuration that flags have made. placed words its errors.
func FromConfig(cfg *config.Config, placed Placement) *Loader {
	return &Loader{first: &plan.File{Config: cfg, Errors: placed}}
}

// FromFile reads a file; "-" is standard input.
func FromFile(path string) (*Loader, error) {
	l := &Loader{path: path}
	f, err := l.read()
	l.first = f
	return l, err
}

// Config returns the configuration that was read first.
func (l *Loader) Config() *config.Config { return l.first.Config }

// Path returns the path of the file: "" for flags, "-" for standard input.
func (l *Loader) Path() string { return l.path }

// Watchable reports whether there is a file that can be watched and read again.
func (l *Loader) Watchable() bool { return l.path != "" && l.path != "-" }

// seen is what was read.
type seen struct {
	stamps   stamps   // of the files of the configuration, and of those that it names
	includes []string // see [config.Places.Includes]
}

// read reads the file with those that it includes. It does not look up names.
func (l *Loader) read() (*plan.File, error) {
	// Files have the stamps from before they are read, so that what is written meanwhile is noticed.
	files := l.look()
	cfg, places, err := ReadFile(l.path)
	if err == nil {
		files = stampsOf(append(keyFiles(cfg), l.path))
	}
	for _, f := range places.Files() {
		files[f.Path] = stampOf(f.Path)
		if f.Info != nil {
			files[f.Path] = stampFrom(f.Info)
		}
	}
	l.seen.Store(&seen{files, places.Includes()})
	if err != nil {
		return nil, err
	}
	return &plan.File{Config: cfg, Errors: places.Errors, Place: places.Place, Origin: places.Origin}, nil
}

// Load reads the file, the files that it names, and looks up its names. The first call uses the file that was read
// already. One goroutine calls it at a time.
func (l *Loader) Load(ctx context.Context) (*plan.File, error) {
	f := *l.first
	switch {
	case !l.began || l.path == "":
		l.began = true
	case l.path == "-":
		return nil, ErrStandardInput
	default:
		now, err := l.read()
		if err != nil {
			return nil, err
		}
		f = *now
	}
	if l.Own != nil {
		f.Own = l.Own()
	}
	if err := readKeys(&f, l.Warn); err != nil {
		return nil, err
	}
	if err := readLists(&f); err != nil {
		return nil, err
	}
	if err := lookUp(ctx, &f); err != nil {
		return nil, err
	}
	warnOfSharedAddresses(&f, l.Warn)
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

// stampOf returns the stamp of a file, or of the target of a symbolic link, or nil if it does not exist.
func stampOf(path string) *stamp {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return stampFrom(info)
}

func stampFrom(info fs.FileInfo) *stamp {
	s := &stamp{size: info.Size(), modified: info.ModTime()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.device, s.inode = uint64(sys.Dev), sys.Ino //nolint:unconvert // Dev has 32 bits on some architectures
	}
	return s
}

// stamps has the stamps of files by path.
type stamps map[string]*stamp

func stampsOf(paths []string) stamps {
	all := make(stamps, len(paths))
	for _, path := range paths {
		all[path] = stampOf(path)
	}
	return all
}

// look returns the stamps of the same files now, and of those that are included now.
func (l *Loader) look() stamps {
	now := stamps{l.path: stampOf(l.path)}
	was := l.seen.Load()
	if was == nil {
		return now
	}
	for path := range was.stamps {
		now[path] = stampOf(path)
	}
	for _, entry := range was.includes {
		files, _ := config.Included(entry) // a reload reports the error
		for _, path := range files {
			if _, known := now[path]; !known {
				now[path] = stampOf(path)
			}
		}
	}
	return now
}

// same reports whether both are of the same versions of the same files.
func (s stamps) same(other stamps) bool { return maps.EqualFunc(s, other, (*stamp).same) }

// same reports whether both are of the same version of a file.
func (s *stamp) same(other *stamp) bool {
	return s == other || s != nil && other != nil && *s == *other
}
