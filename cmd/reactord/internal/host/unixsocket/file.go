package unixsocket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"time"
)

// File is the file of a listening socket. A nil File stands for none.
type File struct {
	path string
	info os.FileInfo // identifies the file
}

// Access has the owner and the mode of a socket's file, whose write permission allows to connect.
type Access struct {
	Mode     fs.FileMode // permissions
	UID, GID int         // owner and group; -1 leaves them, initially the process's
}

// NewAccess looks up the names or numbers of an owner and a group. Empty names mean the process's.
func NewAccess(mode fs.FileMode, owner, group string) (a Access, err error) {
	a.Mode = mode.Perm()
	a.UID, err = lookupID("owner", owner, func(name string) (string, error) {
		u, err := user.Lookup(name)
		if err != nil {
			return "", err
		}
		return u.Uid, nil
	})
	if err != nil {
		return a, err
	}
	a.GID, err = lookupID("group", group, func(name string) (string, error) {
		g, err := user.LookupGroup(name)
		if err != nil {
			return "", err
		}
		return g.Gid, nil
	})
	return a, err
}

// lookupID returns the number of a user or a group, or -1 if name is empty.
func lookupID(what, name string, lookup func(string) (string, error)) (int, error) {
	if name == "" {
		return -1, nil
	}
	if n, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(n), nil
	}
	number, err := lookup(name)
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", what, name, err)
	}
	return strconv.Atoi(number)
}

// apply sets the owner and permissions of a file.
func (a Access) apply(path string) error {
	if a.UID >= 0 || a.GID >= 0 {
		if err := os.Chown(path, a.UID, a.GID); err != nil {
			return err
		}
	}
	return os.Chmod(path, a.Mode)
}

// Adopt returns the file of a socket that another process has created. The error matches [fs.ErrNotExist] if it is
// gone.
func Adopt(path string) (*File, error) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().Type() != fs.ModeSocket {
		err = errNoSocket
	}
	if err != nil {
		return nil, err
	}
	return &File{path, info}, nil
}

// SetAccess changes the owner and permissions of the file, unless it was replaced.
func (f *File) SetAccess(a Access) error {
	return f.locked(a.apply)
}

// Remove removes the file, unless it was replaced.
func (f *File) Remove() error { return f.locked(os.Remove) }

// locked calls do with the path if the file is still the same.
func (f *File) locked(do func(path string) error) error {
	if f == nil {
		return nil
	}
	unlock, err := lockDirectory(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gone with its directory
	}
	switch {
	case errors.Is(err, fs.ErrPermission): // nor can this user have replaced the file
	case err != nil:
		return err
	default:
		defer unlock()
	}
	if !f.same() {
		return nil
	}
	return do(f.path)
}

// same reports whether the path is still that file. The inode of a removed file may be reused, so the time is
// compared, too.
func (f *File) same() bool {
	now, err := os.Lstat(f.path)
	return err == nil && os.SameFile(f.info, now) && made(f.info).Equal(made(now))
}

// made returns when a socket's file was created, which is when it was last modified.
func made(f os.FileInfo) time.Time { return f.ModTime() }
