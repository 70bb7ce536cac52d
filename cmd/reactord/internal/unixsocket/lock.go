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

// lockTimeout is how long another process may hold the lock.
const lockTimeout = 5 * time.Second

// lockDirectory locks the directory of a path. It leaves no file behind.
func lockDirectory(path string) (unlock func(), err error) {
	d, err := os.Open(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: make the directory, by systemd's RuntimeDirectory=reactord or mkdir", err)
	}
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(lockTimeout); ; time.Sleep(5 * time.Millisecond) {
		err = unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = d.Close() }, nil // which unlocks it
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) || time.Now().After(deadline) {
			_ = d.Close()
			return nil, os.NewSyscallError("flock "+filepath.Dir(path), err)
		}
	}
}
