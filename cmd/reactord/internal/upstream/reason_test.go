package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

var (
	errRefused      error = &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}
	errNoDescriptor error = syscall.EMFILE
)

func TestReasons(t *testing.T) {
	for _, test := range []struct {
		err   error
		want  string
		local bool
	}{
		{errRefused, "refused", false},
		{&net.OpError{Op: "dial", Err: errRefused}, "refused", false},
		{os.ErrDeadlineExceeded, "timeout", false},
		{fmt.Errorf("connect: %w", os.ErrDeadlineExceeded), "timeout", false},
		{context.DeadlineExceeded, "timeout", false},
		{syscall.ETIMEDOUT, "timeout", false},
		{syscall.EHOSTUNREACH, "unreachable", false},
		{syscall.ENETUNREACH, "unreachable", false},
		{syscall.ECONNRESET, "reset", false},
		{syscall.EADDRNOTAVAIL, "addrnotavail", true},
		{errNoDescriptor, "local_limit", true},
		{syscall.ENFILE, "local_limit", true},
		{syscall.ENOMEM, "local_limit", true},
		{serveraddr.Unix("/a").ConnectError(syscall.EAGAIN), "backlog_full", false},
		{serveraddr.Unix("/a").ConnectError(syscall.ENOENT), "refused", false},
		{serveraddr.Unix("/a").ConnectError(syscall.EACCES), "denied", false},
		{syscall.EACCES, "local_limit", true},
		{errors.New("?"), "other", false},
		{syscall.EIO, "other", false},
	} {
		r := reasonOf(test.err)
		if reasons[r] != test.want || r.local() != test.local {
			t.Errorf("%v: %s, local %v; want %s, %v", test.err, reasons[r], r.local(), test.want, test.local)
		}
	}
}
