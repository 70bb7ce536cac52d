package accesslog

import (
	"context"
	"os"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// target is where the lines go. Its methods are called by one goroutine.
type target interface {
	// write writes some of lines, and returns how many bytes of them it has taken. The error is
	// [os.ErrDeadlineExceeded] if the reader is slow. A file may take a part of a line: the next call begins with its
	// rest. A socket takes whole lines.
	write(lines []byte) (int, error)
	// reopen opens the target again. closed is the error of closing the previous one. If err is not nil, that one stays
	// in use.
	reopen() (closed, err error)
	close() error
}

// open opens the target of a log. A socket is connected to when there is something to write, until ctx is done.
func open(ctx context.Context, c *config.AccessLog) (target, error) {
	if c.Address.IsZero() {
		return openFile(c.Path, os.FileMode(c.Mode))
	}
	return newSocket(ctx, c)
}
