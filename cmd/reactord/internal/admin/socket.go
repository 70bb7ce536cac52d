package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"golang.org/x/sys/unix"
)

// socket is a listening unix socket with its file. The file is made under another name, gets its owner and permissions,
// and is then renamed, so that it is never there without them. Who replaces or removes it holds a lock of its directory
// meanwhile.
type socket struct {
	*net.UnixListener
	path  string
	file  os.FileInfo // identifies the file
	owned bool        // this process removes the file; not so before it serves on a socket that it was given
}

// errAlive is the error if another process answers on a unix socket.
var errAlive = errors.New("another process answers there: end it first, or choose another path")

// aliveTimeout is how long a process that listens on the path may take to accept. Its kernel does that.
const aliveTimeout = time.Second

func listenUnix(path string, cfg config.Admin) (_ *socket, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("unix://%s: %w", path, err)
		}
	}()
	uid, err := lookupID("owner", cfg.Owner, func(name string) (string, error) {
		u, err := user.Lookup(name)
		if err != nil {
			return "", err
		}
		return u.Uid, nil
	})
	if err != nil {
		return nil, err
	}
	gid, err := lookupID("group", cfg.Group, func(name string) (string, error) {
		g, err := user.LookupGroup(name)
		if err != nil {
			return "", err
		}
		return g.Gid, nil
	})
	if err != nil {
		return nil, err
	}
	unlock, err := lockDirectory(path)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := replaceable(path); err != nil {
		return nil, err
	}
	return makeSocket(path, fs.FileMode(cfg.Mode), uid, gid)
}

// lookupID is the number of a user or a group: -1 if name is empty.
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

// replaceable is an error unless path is free, or the socket of a process that is gone.
func replaceable(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("the file is not a socket: remove it, or choose another path")
	}
	c, err := net.DialTimeout("unix", path, aliveTimeout)
	switch {
	case err == nil:
		_ = c.Close()
		return errAlive
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, os.ErrDeadlineExceeded):
		return errAlive // its queue is full
	}
	return err
}

func makeSocket(path string, mode fs.FileMode, uid, gid int) (*socket, error) {
	early := path + ".new"
	if err := os.Remove(early); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// The permissions of the descriptor become those of the file when it is made.
	private := func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), 0o600) }), err)
	}
	l, err := (&net.ListenConfig{Control: private}).Listen(context.Background(), "unix", early)
	if err != nil {
		return nil, err
	}
	s := &socket{UnixListener: l.(*net.UnixListener), path: path}
	s.SetUnlinkOnClose(false)
	if err := s.publish(early, mode, uid, gid); err != nil {
		return nil, errors.Join(err, s.UnixListener.Close(), os.Remove(early))
	}
	return s, nil
}

// publish gives the file its owner, its permissions and its name.
func (s *socket) publish(early string, mode fs.FileMode, uid, gid int) (err error) {
	if uid >= 0 || gid >= 0 {
		if err := os.Chown(early, uid, gid); err != nil {
			return err
		}
	}
	if err := os.Chmod(early, mode.Perm()); err != nil {
		return err
	}
	if s.file, err = os.Lstat(early); err != nil {
		return err
	}
	s.owned = true
	return os.Rename(early, s.path)
}

// remove removes the file, unless it is another's.
func (s *socket) remove() error {
	if !s.owned {
		return nil
	}
	unlock, err := lockDirectory(s.path)
	if err != nil {
		return err
	}
	defer unlock()
	if now, err := os.Lstat(s.path); err != nil || !os.SameFile(s.file, now) {
		return nil //nolint:nilerror // it is gone
	}
	return os.Remove(s.path)
}

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
