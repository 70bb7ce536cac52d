package simring

import (
	"path"
	"slices"

	"golang.org/x/sys/unix"
)

// What a test does with the disk, before, during and after a run. It takes no time and has no faults.

// WriteFile makes a file with these bytes, and the directories that it is in, or replaces its bytes.
func (k *Kernel) WriteFile(name string, data []byte) (err error) {
	name = absolute(name)
	k.Spared(func() {
		if err = k.MkdirAll(path.Dir(name)); err != nil {
			return
		}
		n := k.disk.lookup(name)
		if n == nil {
			var errno unix.Errno
			if n, errno = k.disk.create(name, unix.S_IFREG|0o644); errno != 0 {
				err = errno
				return
			}
		}
		if !n.is(unix.S_IFREG) {
			err = unix.EISDIR
			return
		}
		if !n.resize(0) || !n.write(data, 0) {
			err = unix.ENOSPC
		}
	})
	return err
}

// MkdirAll makes a directory and its parents.
func (k *Kernel) MkdirAll(name string) error {
	if name = absolute(name); name == "/" {
		return nil
	}
	if err := k.MkdirAll(path.Dir(name)); err != nil {
		return err
	}
	errno := unix.Errno(0)
	k.Spared(func() { errno = k.disk.mkdir(name, 0o755) })
	if n := k.disk.lookup(name); errno == unix.EEXIST && n.is(unix.S_IFDIR) {
		errno = 0
	}
	return failure(errno)
}

// ReadFile returns the bytes of a file.
func (k *Kernel) ReadFile(name string) ([]byte, error) {
	n := k.disk.lookup(absolute(name))
	switch {
	case n == nil:
		return nil, unix.ENOENT
	case !n.is(unix.S_IFREG):
		return nil, unix.EISDIR
	}
	return slices.Clone(n.data), nil
}

// ReadDir returns the names in a directory, sorted.
func (k *Kernel) ReadDir(name string) (names []string, err error) {
	n := k.disk.lookup(absolute(name))
	switch {
	case n == nil:
		return nil, unix.ENOENT
	case !n.is(unix.S_IFDIR):
		return nil, unix.ENOTDIR
	}
	for _, e := range k.disk.list(absolute(name)) {
		names = append(names, path.Base(e.name))
	}
	slices.Sort(names)
	return names, nil
}

// Remove removes a file, or an empty directory.
func (k *Kernel) Remove(name string) error {
	errno := k.disk.unlink(absolute(name), 0)
	if errno == unix.EISDIR {
		errno = k.disk.unlink(absolute(name), unix.AT_REMOVEDIR)
	}
	return failure(errno)
}
