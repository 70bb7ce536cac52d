package accesslog

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// standardOutput is the path that means the standard output.
const standardOutput = "-"

// open opens the file at a path at its end, and makes it if there is none. Opening a pipe that has no reader does not
// wait, and writing to it does not fail when its reader has ended.
func open(path string, mode fs.FileMode) (*os.File, error) {
	if path == standardOutput {
		return os.Stdout, nil
	}
	how := os.O_WRONLY | os.O_APPEND | os.O_CREATE
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		how = os.O_RDWR
	}
	return os.OpenFile(path, how|syscall.O_NONBLOCK|syscall.O_NOCTTY, mode)
}

func closeFile(f *os.File) error {
	if f == os.Stdout {
		return nil
	}
	return f.Close()
}

// patience is how long one call may wait for a pipe to be read.
const patience = 250 * time.Millisecond

// writeSome writes as much as the file takes. The error is os.ErrDeadlineExceeded if it is a pipe that is not read.
func writeSome(f *os.File, b []byte) (int, error) {
	_ = f.SetWriteDeadline(time.Now().Add(patience)) // a regular file has none, and needs none
	return f.Write(b)
}
