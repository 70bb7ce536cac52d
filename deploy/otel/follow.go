package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

const (
	pollInterval = 250 * time.Millisecond
	// grace is how long a file that was rotated is still read: the daemon writes to it until it has opened the new one,
	// and what waits then for a second more.
	grace = 2 * time.Second
	// maxLine is the maximum length of a line in bytes. Longer ones are not the daemon's.
	maxLine = 1 << 20
)

// follow reads lines of a file for ever, also after it was rotated or truncated, of a named pipe for ever, or of the
// standard input ("-") to its end. It calls each with a line, without its end, that is valid until each returns.
// fromStart reports whether it begins with the existing contents of a file.
func follow(ctx context.Context, path string, fromStart bool, each func([]byte)) error {
	if path == "-" {
		return (&lineReader{each: each}).read(os.Stdin)
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		return followPipe(ctx, path, each)
	}
	t := &tail{path: path, lines: lineReader{each: each}}
	defer t.close()
	if err == nil && !fromStart {
		if err := t.open(io.SeekEnd); err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		if err := t.step(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollInterval):
		}
	}
	return ctx.Err()
}

// followPipe keeps the pipe open for writing, too, so that it does not end with its writer.
func followPipe(ctx context.Context, path string, each func([]byte)) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	defer context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Now()) })()
	err = (&lineReader{each: each}).read(f)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// tail is a file that is read as it grows.
type tail struct {
	path     string
	file     *os.File // nil: there is none yet
	lines    lineReader
	replaced time.Time // when the path was first seen to be another file, with nothing read since; zero: it is not
}

// step reads what there is, and moves on to the next file if there is one.
func (t *tail) step() error {
	if t.file == nil {
		if err := t.open(io.SeekStart); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
	}
	before := t.lines.bytes
	if err := t.lines.read(t.file); err != nil {
		return err
	}
	now, err := os.Stat(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was renamed, and the next one is not there yet
	}
	if err != nil {
		return err
	}
	own, err := t.file.Stat()
	switch {
	case err != nil:
		return err
	case os.SameFile(now, own):
		return t.rewind(own)
	case t.replaced.IsZero() || t.lines.bytes != before:
		t.replaced = time.Now()
	case time.Since(t.replaced) > grace:
		t.close()
		return t.open(io.SeekStart)
	}
	return nil
}

// rewind begins anew if the file was truncated.
func (t *tail) rewind(own fs.FileInfo) error {
	t.replaced = time.Time{}
	at, err := t.file.Seek(0, io.SeekCurrent)
	if err == nil && own.Size() < at {
		t.lines.reset()
		_, err = t.file.Seek(0, io.SeekStart)
	}
	return err
}

func (t *tail) open(whence int) error {
	f, err := os.Open(t.path)
	if err != nil {
		return err
	}
	t.file, t.replaced = f, time.Time{}
	t.lines.reset()
	_, err = f.Seek(0, whence)
	return err
}

func (t *tail) close() {
	if t.file != nil {
		_ = t.file.Close() // it was only read
		t.file = nil
	}
}

// lineReader makes lines of what it reads, and keeps the beginning of a line until the rest comes.
type lineReader struct {
	each  func([]byte)
	part  []byte
	skip  bool // the line is too long
	bytes int64
}

func (r *lineReader) reset() { r.part, r.skip = r.part[:0], false }

// read reads to the end of a file.
func (r *lineReader) read(f io.Reader) error {
	in := bufio.NewReaderSize(f, 64<<10)
	for {
		chunk, err := in.ReadSlice('\n')
		r.bytes += int64(len(chunk))
		whole := len(chunk) > 0 && chunk[len(chunk)-1] == '\n'
		switch {
		case r.skip || len(r.part)+len(chunk) > maxLine:
			r.part, r.skip = r.part[:0], !whole
		case !whole:
			r.part = append(r.part, chunk...)
		case len(r.part) == 0:
			r.each(chunk[:len(chunk)-1])
		default:
			r.part = append(r.part, chunk[:len(chunk)-1]...)
			r.each(r.part)
			r.part = r.part[:0]
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}
