package accesslog

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// stdoutPath is the path that stands for the standard output.
const stdoutPath = "-"

// open opens the file at a path for appending, and creates it if needed. Opening a pipe without a reader does not
// block, and writing to it does not fail when its reader exits.
func open(path string, mode fs.FileMode) (*os.File, error) {
	if path == stdoutPath {
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

// writeTimeout limits how long a call waits for the reader of a pipe.
const writeTimeout = 250 * time.Millisecond

// writeSome writes as much as the file accepts. It returns os.ErrDeadlineExceeded if a pipe is not read.
func writeSome(f *os.File, b []byte) (int, error) {
	_ = f.SetWriteDeadline(time.Now().Add(writeTimeout)) // regular files have no deadline, and need none
	return f.Write(b)
}
