package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// seen is the lines that a follower has read.
type seen struct {
	mu    sync.Mutex
	lines []string
}

func (s *seen) each(text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, string(text))
}

func (s *seen) await(t *testing.T, want ...string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		got := slices.Clone(s.lines)
		s.mu.Unlock()
		if slices.Equal(got, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

// following follows a file until the test ends.
func following(t *testing.T, path string, fromStart bool) *seen {
	t.Helper()
	s := &seen{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- follow(ctx, path, fromStart, s.each) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return s
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// A file that is rotated as logrotate does loses no line: the old one is read while the daemon still writes to it.
func TestFollowRotation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "access.log")
	s := following(t, path, true) // which is not there yet
	write(t, path, "one\ntw")
	s.await(t, "one")
	write(t, path, "o\n")
	s.await(t, "one", "two")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, path+".1", "three\n")
	s.await(t, "one", "two", "three")
	write(t, path+".1", "four\n")
	write(t, path, "five\n")
	s.await(t, "one", "two", "three", "four", "five")
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * pollInterval) // a file that grows again sooner looks as if it had not been truncated
	write(t, path, "six\n")
	s.await(t, "one", "two", "three", "four", "five", "six")
}

// A file is followed from its end, unless its beginning is wanted.
func TestFollowFromEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "access.log")
	write(t, path, "old\n")
	s, all := following(t, path, false), following(t, path, true)
	all.await(t, "old")
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		write(t, path, "new\n") // until it has opened the file
		s.mu.Lock()
		got := slices.Clone(s.lines)
		s.mu.Unlock()
		if slices.Contains(got, "old") || time.Now().After(deadline) {
			t.Fatalf("%q", got)
		}
		if len(got) > 0 {
			return
		}
	}
}

// A pipe does not end with its writer.
func TestFollowPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "access.fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	s := following(t, path, false)
	write(t, path, "one\n")
	s.await(t, "one")
	write(t, path, "two\n")
	s.await(t, "one", "two")
}

// A line that is too long is left out, in memory of a bounded size.
func TestLongLine(t *testing.T) {
	t.Parallel()
	s := &seen{}
	r := &lineReader{each: s.each}
	text := "a\n" + strings.Repeat("x", 3*maxLine) + "\nb\n" + strings.Repeat("y", maxLine-1) + "\nc\nd"
	if err := r.read(strings.NewReader(text)); err != nil || cap(r.part) > 2*maxLine {
		t.Errorf("%v; %d bytes", err, cap(r.part))
	}
	s.await(t, "a", "b", strings.Repeat("y", maxLine-1), "c")
}
