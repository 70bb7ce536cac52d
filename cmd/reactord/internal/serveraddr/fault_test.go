package serveraddr

import (
	"errors"
	"strings"
	"syscall"
	"testing"
)

// TestConnectError checks that errors of unix sockets are explained, and others left as they are.
func TestConnectError(t *testing.T) {
	unix, ip := Unix("/a"), MustParse("10.0.0.1:80")
	for err, want := range map[error]string{
		syscall.EAGAIN:       "the backlog of the server's socket is full",
		syscall.ENOENT:       "the server's socket does not exist: no such file",
		syscall.ECONNREFUSED: "nothing listens on the server's socket: connection refused",
		syscall.EACCES:       "do not allow it: permission denied",
		syscall.EPERM:        "do not allow it: operation not permitted",
		syscall.EIO:          "input/output error",
		errors.New("x"):      "x",
	} {
		got := unix.ConnectError(err)
		if !strings.Contains(got.Error(), want) || errors.Is(got, err) != (err != syscall.EAGAIN) {
			t.Errorf("%v became %v, want %s", err, got, want)
		}
		if ip.ConnectError(err) != err {
			t.Errorf("%v became %v for an IP address", err, ip.ConnectError(err))
		}
	}
	if _, err := Unix("/" + strings.Repeat("a", 107)).Socket(); !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Errorf("a path of 108 bytes: %v", err)
	}
}
