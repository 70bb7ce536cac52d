package cli

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

// The advice for a socket's file is not that for a port.
func TestAdviceOnBind(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "bind", Path: "/run/reactord", Err: syscall.EACCES}, "must be able to write to that directory"},
		{os.NewSyscallError("bind", syscall.EACCES), "a port below 1024 requires CAP_NET_BIND_SERVICE"},
	} {
		if got := explain(c.err); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
