package account

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"runtime"

	"golang.org/x/sys/unix"
)

// Lookup returns an error if the user or the group does not exist. ofGroup reports whether it is the group.
func Lookup(name, group string) (ofGroup bool, err error) {
	if name == "" {
		return false, nil
	}
	_, err = lookup(name, group)
	_, ofGroup = errors.AsType[user.UnknownGroupError](err)
	return ofGroup, err
}

// Unreadable returns the existing files that the user cannot open, with the errors. Only a process of root can check
// that; others find none. The group is as in [Become].
func Unreadable(name, group string, paths []string) (map[string]error, error) {
	if name == "" || euid() != 0 {
		return nil, nil
	}
	as, err := lookup(name, group)
	if err != nil || as.uid == 0 {
		return nil, err
	}
	found := map[string]error{}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine, and its identity with it
		err := as.assume()
		for _, path := range paths {
			if err != nil {
				break
			}
			f, wrong := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe need not have a writer
			if wrong == nil {
				_ = f.Close()
			} else if errors.Is(wrong, fs.ErrPermission) {
				found[path] = wrong
			}
		}
		done <- err
	}()
	return found, <-done
}

// assume gives the calling thread, and no other, the account's permissions for files. The kernel drops the capabilities
// that would override permissions when the file system user of a thread is no longer root.
func (to ids) assume() error {
	if err := unix.Setgroups(to.groups); err != nil { // syscall.Setgroups would change all threads
		return os.NewSyscallError("setgroups", err)
	}
	if err := unix.Setfsgid(to.gid); err != nil {
		return os.NewSyscallError("setfsgid", err)
	}
	return os.NewSyscallError("setfsuid", unix.Setfsuid(to.uid))
}
