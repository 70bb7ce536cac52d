package unixsocket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockTimeout limits how long another process may hold the lock.
const lockTimeout = 5 * time.Second

// lockName is the name of the lock file, which exists while the lock is held. The directory itself is not locked,
// because every user who can read it could hold that lock indefinitely.
const lockName = ".lock~"

// lockDirectory locks the directory of a path. It leaves no file behind. Without permission to write to the
// directory, the error is an [fs.PathError] of bind and the directory.
func lockDirectory(path string) (unlock func(), err error) {
	dir := filepath.Dir(path)
	name := filepath.Join(dir, lockName)
	for deadline := time.Now().Add(lockTimeout); ; time.Sleep(5 * time.Millisecond) {
		unlock, err := tryLock(name)
		switch {
		case err == nil:
			return unlock, nil
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%w: make the directory, by systemd's RuntimeDirectory=reactord or mkdir", err)
		case errors.Is(err, fs.ErrPermission):
			return nil, &fs.PathError{Op: "bind", Path: dir, Err: unix.EACCES}
		case !errors.Is(err, errHeld) || time.Now().After(deadline):
			return nil, err
		}
	}
}

var errHeld = errors.New("another process holds the lock")

// tryLock creates and locks a file, which unlock removes. The error matches errHeld if it is worth another try.
func tryLock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
			return nil, fmt.Errorf("%s: %w", name, errHeld)
		}
		return nil, os.NewSyscallError("flock "+name, err)
	}
	locked, err := f.Stat()
	now, gone := os.Lstat(name)
	if err != nil || gone != nil || !os.SameFile(locked, now) { // its holder has removed it meanwhile
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", name, errHeld)
	}
	return func() {
		_ = os.Remove(name)
		_ = f.Close() // which unlocks it
	}, nil
}
