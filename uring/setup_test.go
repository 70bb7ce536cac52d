//go:build linux

package uring

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/testenv"
)

// kernel is a kernel that knows some flags and has some features.
type kernel struct {
	flags, features uint32
	errno           unix.Errno // of every call
	asked           int
}

// setup is io_uring_setup(2), except that it makes a descriptor of another kind.
func (k *kernel) setup(_ int, p *params) (int, unix.Errno) {
	k.asked++
	switch {
	case k.errno != 0:
		return -1, k.errno
	case p.flags&^k.flags != 0,
		p.flags&SetupDeferTaskrun != 0 && p.flags&SetupSingleIssuer == 0:
		return -1, unix.EINVAL
	}
	p.features = k.features
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return -1, unix.EMFILE
	}
	return fd, 0
}

// What each version of Linux knows.
const (
	flags511 = SetupCQSize | SetupClamp | SetupRDisabled
	flags518 = flags511 | SetupSubmitAll
	flags519 = flags518 | SetupCoopTaskrun | SetupTaskrunFlag
	flags60  = flags519 | SetupSingleIssuer
	flags61  = flags60 | SetupDeferTaskrun
	flags66  = flags61 | SetupNoSQArray
)

func TestSetupStepsDown(t *testing.T) {
	const deferred = SetupSingleIssuer | SetupDeferTaskrun | SetupTaskrunFlag | SetupSubmitAll
	for _, c := range []struct {
		name   string
		kernel uint32
		want   uint32 // in addition to flags511
	}{
		{"6.6", flags66, deferred | SetupNoSQArray},
		{"6.1", flags61, deferred},
		{"6.0", flags60, SetupSingleIssuer | SetupCoopTaskrun | SetupTaskrunFlag | SetupSubmitAll},
		{"5.19", flags519, SetupCoopTaskrun | SetupTaskrunFlag | SetupSubmitAll},
		{"5.18", flags518, SetupSubmitAll},
		{"5.11", flags511, 0},
	} {
		k := kernel{flags: c.kernel, features: required}
		fd, p, err := setup(Config{}.withDefaults(), k.setup)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		unix.Close(fd)
		if got := p.flags &^ flags511; got != c.want {
			t.Errorf("%s: flags %#x, want %#x", c.name, got, c.want)
		}
	}
}

func TestSetupFails(t *testing.T) {
	for _, c := range []struct {
		name   string
		kernel kernel
		errno  unix.Errno // of the error
		asked  int
	}{
		{"too old for the flags", kernel{flags: SetupClamp, features: required}, unix.EINVAL, len(wanted)},
		{"too old for the features", kernel{flags: flags66, features: required &^ FeatExtArg}, 0, 1},
		{"forbidden", kernel{errno: unix.EPERM}, unix.EPERM, 1},
		{"hidden", kernel{errno: unix.ENOSYS}, unix.ENOSYS, 1},
		{"no descriptor", kernel{errno: unix.EMFILE}, unix.EMFILE, 1},
		{"no memory", kernel{errno: unix.ENOMEM}, unix.ENOMEM, 1},
	} {
		_, _, err := setup(Config{}.withDefaults(), c.kernel.setup)
		if !errors.Is(err, ErrUnavailable) || c.errno != 0 && !errors.Is(err, c.errno) {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.kernel.asked != c.asked {
			t.Errorf("%s: the kernel was asked %d times, want %d", c.name, c.kernel.asked, c.asked)
		}
	}
}

// A ring works with each set of flags that this kernel takes.
func TestEverySetOfFlags(t *testing.T) {
	_, err := Probe()
	testenv.NeedIOUring(t, err)
	for _, flags := range wanted {
		known := flags | flags511
		r := &Ring{workers: 1}
		fd, p, err := setup(Config{Entries: 2}.withDefaults(), func(n int, p *params) (int, unix.Errno) {
			if p.flags&^known != 0 {
				return -1, unix.EINVAL
			}
			return setupCall(n, p)
		})
		if err != nil {
			t.Errorf("flags %#x: %v", flags, err)
			continue
		}
		if p.flags != known {
			t.Errorf("flags %#x, want %#x", p.flags, known)
		}
		r.fd = fd
		if err := r.init(&p); err != nil {
			t.Fatal(err)
		}
		enable(t, r)
		pushNops(r, 0, 100)
		expectInOrder(t, r, 0, 100)
		expectWake(t, r)
	}
}
