package loader

import (
	"context"
	"time"
)

// WatchInterval is the time between two looks at the files. A look is one stat(2) for each, so that it costs less than
// a watch by inotify is complicated: no rename, symbolic link, mount or remote file system is special.
const WatchInterval = time.Second

// Watch calls reload when the file, one that it includes, or a file of certificates that it names, differs from what
// was last read: written in place, replaced by a rename, or behind a symbolic link that leads elsewhere, as in a
// ConfigMap. It also does when an included file has come or gone. It waits until a look finds the files as the look
// before did, so that a file that is being written is left alone. It returns when ctx is done.
func (l *Loader) Watch(ctx context.Context, interval time.Duration, reload func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	was := l.look()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := l.look()
		if now[l.path] != nil && now.same(was) && !now.same(l.seen.Load().stamps) {
			reload()
		}
		was = now
	}
}
