package logging

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
)

func newLog(t *testing.T, level string) *Log {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	log, err := New(f, level, "json")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		f.Close()
	})
	return log
}

// The last lines are remembered, whatever the level of the log is.
func TestRecent(t *testing.T) {
	log := newLog(t, "error")
	log.Debug("detail")
	log.With(zap.String("listener", "web")).Info("first", zap.Duration("took", time.Second),
		zap.ByteString("stack", []byte("a\nb")))
	log.Warn("second", zap.String("error", strings.Repeat("x", maxFields)))
	lines := log.Recent.After(0)
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, want := range []string{`1 info first {"listener":"web","took":"1s"}`, `2 warn second {}`} {
		l := lines[i]
		if got := fmt.Sprintf("%d %s %s %s", l.Number, l.Level, l.Message, l.Fields); got != want || time.Since(l.At) > time.Hour {
			t.Errorf("got %s at %v, want %s", got, l.At, want)
		}
	}
	if one := log.Recent.After(1); len(one) != 1 || one[0].Number != 2 {
		t.Errorf("after 1: %v", one)
	}
	if none := log.Recent.After(3); len(none) != 0 {
		t.Errorf("after 3: %v", none)
	}
}

// Many goroutines log: the lines have consecutive numbers, and their number is bounded.
func TestRecentIsBounded(t *testing.T) {
	log := newLog(t, "error")
	const each, writers = 2 * maxRecent, 4
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range each {
				log.Info("line")
			}
		})
	}
	for range each {
		log.Recent.After(0)
	}
	all.Wait()
	lines := log.Recent.After(0)
	if len(lines) != maxRecent {
		t.Fatalf("%d lines", len(lines))
	}
	for i, l := range lines {
		if want := uint64(each*writers - maxRecent + i + 1); l.Number != want {
			t.Fatalf("line %d has the number %d, want %d", i, l.Number, want)
		}
	}
}
