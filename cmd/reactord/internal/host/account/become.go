package account

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// kept is the capability that a process keeps if it has it.
const kept = unix.CAP_NET_BIND_SERVICE

// capabilities has the capability sets of a thread, in two words for 64 capabilities: see capget(2).
type capabilities [2]unix.CapUserData

func euid() int { return os.Geteuid() }

// Become changes the user and the group of the program, given as names or numbers; an empty group means the user's. A
// process of root executes the program again, with the same arguments, environment and descriptors, and does not
// return. Any other process, and one that is that user already, stays as it is: see [Check].
func Become(name, group string) error {
	if name == "" || euid() != 0 {
		return nil
	}
	to, err := lookup(name, group)
	if err != nil || to.uid == 0 {
		return err
	}
	path, err := os.Executable()
	if err != nil {
		return err
	}
	runtime.LockOSThread() // for good: the rest concerns the thread that calls execve(2)
	if err := to.drop(); err != nil {
		return fmt.Errorf("becoming user %s: %w", name, err)
	}
	return fmt.Errorf("user %s cannot execute %s: %w", name, path, syscall.Exec(path, os.Args, os.Environ()))
}

// Check returns an error unless the process runs as the user and the group. An empty name matches any.
func Check(name, group string) error {
	if name == "" {
		return nil
	}
	want, err := lookup(name, group)
	switch {
	case err != nil:
		return err
	case euid() != want.uid && euid() == 0:
		return fmt.Errorf("the process runs as root, and not as user %s: it can change that only if its configuration "+
			"is in a file, which is read twice, and not on standard input", name)
	case euid() != want.uid:
		return fmt.Errorf("the process runs as user %s, and only root can become user %s: start it as one of them, "+
			"or remove user", Name(), name)
	case os.Getegid() != want.gid:
		return fmt.Errorf("the process runs as group %d, and not as %d: start it as root, or remove user and group",
			os.Getegid(), want.gid)
	}
	return nil
}

// Conceal protects the memory of the process, with the keys of its certificates, from other processes of its user, and
// keeps it out of core dumps. execve(2) undoes that.
func Conceal() error {
	return os.NewSyscallError("prctl(PR_SET_DUMPABLE)", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
}

// drop changes the identity of the process, and the capabilities of the thread.
func (to ids) drop() error {
	keep, err := hasKept()
	if err != nil {
		return err
	}
	for _, step := range []struct {
		call string
		do   func() error
	}{
		{"prctl(PR_CAPBSET_DROP)", dropBounding},
		{"prctl(PR_SET_KEEPCAPS)", func() error { return unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0) }},
		{"setgroups", func() error { return syscall.Setgroups(to.groups) }},
		{"setresgid", func() error { return syscall.Setresgid(to.gid, to.gid, to.gid) }},
		{"setresuid", func() error { return syscall.Setresuid(to.uid, to.uid, to.uid) }},
		{"capset", func() error { return setCapabilities(keep) }},
		{"prctl(PR_CAP_AMBIENT)", func() error { return setAmbient(keep) }},
		{"prctl(PR_SET_NO_NEW_PRIVS)", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
	} {
		if err := step.do(); err != nil {
			return os.NewSyscallError(step.call, err)
		}
	}
	return nil
}

// header returns the newest version of the interface, for the calling thread.
func header() *unix.CapUserHeader {
	return &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
}

// hasKept reports whether the thread has the capability that it may keep.
func hasKept() (bool, error) {
	var have capabilities
	err := unix.Capget(header(), &have[0])
	return have[kept/32].Permitted&(1<<(kept%32)) != 0, os.NewSyscallError("capget", err)
}

// dropBounding removes all other capabilities from the bounding set. Without CAP_SETPCAP that is not possible, and not
// needed: with no_new_privs, executed programs gain none.
func dropBounding() error {
	for c := 0; ; c++ {
		if c == kept {
			continue
		}
		switch err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); {
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EPERM): // no capability of that number
			return nil
		case err != nil:
			return err
		}
	}
}

// setCapabilities drops all capabilities except the kept one.
func setCapabilities(keep bool) error {
	var only capabilities
	if keep {
		bit := uint32(1) << (kept % 32)
		only[kept/32] = unix.CapUserData{Effective: bit, Permitted: bit, Inheritable: bit}
	}
	return unix.Capset(header(), &only[0])
}

// setAmbient preserves the kept capability, and no other, across execve(2).
func setAmbient(keep bool) error {
	err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if err == nil && keep {
		err = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, kept, 0, 0)
	}
	return err
}
