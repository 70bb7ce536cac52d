package metrics

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/reactord/reactord/reactor"
)

func TestReason(t *testing.T) {
	failed := func(errno syscall.Errno) error {
		return fmt.Errorf("not available: %w", os.NewSyscallError("io_uring_setup", errno))
	}
	for _, test := range []struct {
		kind, asked reactor.RingKind
		err         error
		sysctl      string
		want        string
	}{
		{reactor.IOUring, reactor.Auto, nil, "0\n", ""},
		{reactor.IOUring, reactor.IOUring, nil, "", ""},
		{reactor.Epoll, reactor.Epoll, nil, "0\n", "forced"},
		{reactor.Epoll, reactor.Epoll, nil, "2\n", "forced"},
		{reactor.Epoll, reactor.Auto, failed(syscall.EPERM), "0\n", "eperm"},
		{reactor.Epoll, reactor.Auto, failed(syscall.EPERM), "", "eperm"},
		{reactor.Epoll, reactor.Auto, failed(syscall.EACCES), "0\n", "eperm"},
		{reactor.Epoll, reactor.Auto, failed(syscall.EPERM), "1\n", "disabled"},
		{reactor.Epoll, reactor.Auto, failed(syscall.EPERM), "2\n", "disabled"},
		{reactor.Epoll, reactor.Auto, failed(syscall.ENOSYS), "2\n", "enosys"},
		{reactor.Epoll, reactor.Auto, failed(syscall.EOPNOTSUPP), "", "enosys"},
		{reactor.Epoll, reactor.Auto, failed(syscall.EINVAL), "", "old_kernel"},
		{reactor.Epoll, reactor.Auto, errors.New("no multishot receive"), "", "old_kernel"},
		{reactor.Epoll, reactor.Auto, failed(syscall.ENOMEM), "", "memlock"},
		{reactor.Epoll, reactor.Auto, failed(syscall.EMFILE), "", "other"},
		{reactor.Epoll, reactor.Auto, nil, "", "other"},
	} {
		choice := reactor.RingChoice{Kind: test.kind, Asked: test.asked, Err: test.err}
		if got := reason(choice, test.sysctl); got != test.want {
			t.Errorf("%s instead of %s because of %v, sysctl %q: %q, want %q",
				test.kind, test.asked, test.err, test.sysctl, got, test.want)
		}
	}
}
