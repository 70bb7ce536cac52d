package sets

import (
	"context"
	"os"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/sets/list"
	"github.com/reactord/reactord/cmd/reactord/internal/source/fetch"
)

// fileInterval separates two looks at a file.
const fileInterval = 2 * time.Second

// fileFeed reads a file when it changes. It looks at the file's name every few seconds: that works for every rename,
// symbolic link and file system.
type fileFeed struct {
	path string
	set  *config.Set
	seen os.FileInfo // of the version that was read last; nil before
}

func newFileFeed(path string, s *config.Set) *fileFeed { return &fileFeed{path: path, set: s} }

func (f *fileFeed) run(ctx context.Context, report func(*list.List, error)) {
	for {
		if l, err, changed := f.look(); changed {
			report(l, err)
		}
		if !fetch.Sleep(ctx, fileInterval) {
			return
		}
	}
}

// look reads the file if it is another one than before, or cannot be looked at.
func (f *fileFeed) look() (l *list.List, err error, changed bool) {
	info, err := os.Stat(f.path)
	if err != nil {
		f.seen = nil
		return nil, err, true
	}
	if was := f.seen; was != nil && os.SameFile(was, info) && was.Size() == info.Size() &&
		was.ModTime().Equal(info.ModTime()) {
		return nil, nil, false
	}
	f.seen = info
	l, err = list.ReadFile(f.path, f.set)
	return l, err, true
}
