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
		got := fmt.Sprintf("%d %s %s %s", l.Number, l.Level, l.Message, l.Fields)
		if got != want || time.Since(l.At) > time.Hour {
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

// What repeats soon is one line with the last number.
func TestRecentRepetitions(t *testing.T) {
	log := newLog(t, "error")
	for range 3 {
		log.Warn("full", zap.String("listener", "a"))
		log.Warn("full", zap.String("listener", "b"))
	}
	later := time.Now().Add(2 * soon)
	log.Recent.add(Line{Message: "full", Level: zap.WarnLevel, Fields: []byte(`{"listener":"a"}`), At: later})
	var got []string
	for _, l := range log.Recent.After(0) {
		got = append(got, fmt.Sprintf("%d %s ×%d", l.Number, l.Fields, l.Times))
	}
	if want := `[5 {"listener":"a"} ×3 6 {"listener":"b"} ×3 7 {"listener":"a"} ×1]`; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// Many goroutines log: the lines have consecutive numbers, and their number is bounded.
func TestRecentIsBounded(t *testing.T) {
	log := newLog(t, "error")
	const each, writers = 2 * maxRecent, 4
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				log.Info("line", zap.Int("writer", w), zap.Int("line", i))
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
