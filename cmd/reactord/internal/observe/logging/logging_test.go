package logging

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logged is what a logger writes to a file.
func logged(t *testing.T, level, format string, use func(*zap.Logger)) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, err := New(f, level, format)
	if err != nil {
		t.Fatal(err)
	}
	use(log.Logger)
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestJSONIsOneObjectALine(t *testing.T) {
	text := logged(t, "info", "auto", func(log *zap.Logger) {
		log.Info("ready", zap.Duration("took", 1500*time.Millisecond), zap.Int("loops", 2))
		log.Error("gone", zap.String("server", "a\nb"))
	})
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines: %q", len(lines), text)
	}
	var first map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339Nano, first["time"].(string))
	if err != nil || time.Since(at).Abs() > time.Hour {
		t.Errorf("time %v: %v", first["time"], err)
	}
	delete(first, "time")
	got, _ := json.Marshal(first)
	if want := `{"level":"info","loops":2,"msg":"ready","took":1.5}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestConsoleIsForPeople(t *testing.T) {
	text := logged(t, "debug", "console", func(log *zap.Logger) {
		log.Debug("hello", zap.Duration("took", time.Second))
	})
	_, rest, _ := strings.Cut(text, " ")
	if want := "DEBUG hello {\"took\": \"1s\"}\n"; rest != want {
		t.Errorf("got %q, want %q", rest, want)
	}
}

func TestLevel(t *testing.T) {
	text := logged(t, "warn", "json", func(log *zap.Logger) {
		log.Info("quiet")
		log.Warn("loud")
	})
	if strings.Contains(text, "quiet") || !strings.Contains(text, "loud") {
		t.Errorf("got %q", text)
	}
}

// TestLevelChanges changes the level of a logger in use, and of one that was derived from it.
func TestLevelChanges(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, err := New(f, "warn", "json")
	if err != nil {
		t.Fatal(err)
	}
	derived := log.With(zap.Int("loop", 1))
	derived.Info("before")
	if err := log.SetLevel("debug"); err != nil {
		t.Fatal(err)
	}
	derived.Debug("during")
	if err := log.SetLevel("chatty"); err == nil {
		t.Error("no error of an unknown level")
	}
	log.Level.SetLevel(zap.ErrorLevel)
	derived.Warn("after")
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); strings.Count(got, "\n") != 1 || !strings.Contains(got, "during") {
		t.Errorf("got %q", got)
	}
}

func TestUnknownSettings(t *testing.T) {
	if _, err := New(os.Stderr, "chatty", "json"); err == nil {
		t.Error("no error of an unknown level")
	}
	if _, err := New(os.Stderr, "info", "xml"); err == nil {
		t.Error("no error of an unknown format")
	}
}

// TestTerminal opens a pseudo-terminal, on which "auto" means console, in colour.
func TestTerminal(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminal: ", err)
	}
	defer terminal.Close()
	log, err := New(terminal, "info", "auto")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("hello")
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	line := make([]byte, 100)
	n, err := master.Read(line)
	if err != nil || !bytes.Contains(line[:n], []byte("\x1b[34mINFO\x1b[0m hello")) {
		t.Errorf("got %q, %v", line[:n], err)
	}
}

// gate is a writer whose writes wait until the test lets them continue.
type gate struct {
	entered, leave chan struct{}
	mu             sync.Mutex
	text           bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	g.entered <- struct{}{}
	<-g.leave
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.Write(p)
}

// TestSlowReader writes while the reader reads nothing: no write waits, and dropped lines are counted.
func TestSlowReader(t *testing.T) {
	g := &gate{entered: make(chan struct{}), leave: make(chan struct{})}
	var lost []uint64
	q := newQueue(g, 8, func(lines uint64) { lost = append(lost, lines) })
	io.WriteString(q, "one\n")
	<-g.entered // "one" is being written
	for _, line := range []string{"two\n", "six\n", "ten\n", "too much\n"} {
		if n, err := io.WriteString(q, line); n != len(line) || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
	}
	g.leave <- struct{}{}
	<-g.entered
	g.leave <- struct{}{}
	if err := q.Sync(); err != nil {
		t.Error(err)
	}
	if got, want := g.text.String(), "one\ntwo\nsix\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(lost) != 1 || lost[0] != 2 {
		t.Errorf("lost %v, want 2 once", lost)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	if _, err := io.WriteString(q, "late\n"); err != nil {
		t.Error(err)
	}
}

func TestWritersDoNotMixTheirLines(t *testing.T) {
	var text bytes.Buffer
	q := newQueue(&text, 1<<20, func(lines uint64) { t.Errorf("%d lines lost", lines) })
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			line := strings.Repeat(string(rune('a'+i)), 50) + "\n"
			for range 200 {
				io.WriteString(q, line)
			}
			if err := q.Sync(); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	count := 0
	for line := range strings.Lines(text.String()) {
		if count++; strings.Trim(line, line[:1]) != "\n" || len(line) != 51 {
			t.Fatalf("mixed line %q", line)
		}
	}
	if count != 1600 {
		t.Errorf("%d lines, want 1600", count)
	}
}
