package accesslog

import (
	"io/fs"
	"os"
	"syscall"
	"time"
)

// stdoutPath is the path that stands for the standard output.
const stdoutPath = "-"

// file is a file, a named pipe, or the standard output.
type file struct {
	path string
	mode fs.FileMode
	*os.File
}

// openFile opens the file at a path for appending, and creates it if needed. Opening a pipe without a reader does not
// block, and writing to it does not fail when its reader exits.
func openFile(path string, mode fs.FileMode) (*file, error) {
	f := &file{path: path, mode: mode}
	return f, f.open()
}

func (f *file) open() (err error) {
	if f.path == stdoutPath {
		f.File = os.Stdout
		return nil
	}
	how := os.O_WRONLY | os.O_APPEND | os.O_CREATE
	if info, err := os.Stat(f.path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		how = os.O_RDWR
	}
	opened, err := os.OpenFile(f.path, how|syscall.O_NONBLOCK|syscall.O_NOCTTY, f.mode)
	if err == nil {
		f.File = opened
	}
	return err
}

// writeTimeout limits how long a call waits for the reader of a pipe or of a socket.
const writeTimeout = 250 * time.Millisecond

// write writes as much as the file accepts, which may end within a line.
func (f *file) write(lines []byte) (int, error) {
	_ = f.SetWriteDeadline(time.Now().Add(writeTimeout)) // regular files have no deadline, and need none
	return f.Write(lines)
}

func (f *file) reopen() (closed, err error) {
	before := f.File
	if err := f.open(); err != nil {
		return nil, err
	}
	return closeFile(before), nil
}

func (f *file) close() error { return closeFile(f.File) }

func closeFile(f *os.File) error {
	if f == os.Stdout {
		return nil
	}
	return f.Close()
}
