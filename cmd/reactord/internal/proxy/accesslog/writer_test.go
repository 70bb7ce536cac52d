package accesslog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sample is a record in which each field has another value.
func sample() Record {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)
	addr := netip.MustParseAddrPort
	return Record{
		ID: 7, Network: "tcp", Listener: "web", Route: "api", Backend: "app", Server: "app1",
		ServerAddress: serveraddr.MustParse("10.0.0.1:80"), Client: addr("192.0.2.1:1234"), Peer: addr("[2001:db8::1]:99"),
		Local: addr("192.0.2.9:443"), SNI: "example.org", ALPN: "h2", ClientCN: "bob",
		TLS:      TLS{Version: 0x304, Cipher: 0x1301, Resumed: true},
		Accepted: at, Ended: at.Add(2500 * time.Millisecond), Total: 2500 * time.Millisecond,
		Phases: [PhaseCount]time.Duration{
			1001 * time.Microsecond, 2 * time.Millisecond, 3 * time.Millisecond, 4 * time.Millisecond, NotReached,
		},
		Bytes: [2]uint64{1000, 2000},
		TCP: [2]TCP{
			{Known: true, RTT: 40 * time.Millisecond, MinRTT: 39 * time.Millisecond, Retransmits: 9, DeliveryRate: 123456},
			{Known: true},
		},
		Attempts: 3, Retries: 2, QueuedPos: 6,
		Connections: 14, ListenerConnections: 13, BackendConnections: 12, ServerConnections: 11,
		End: End{By: "client", Phase: "data", Code: "CD", Why: "the client has reset the connection"},
		Err: unix.ECONNREFUSED,
	}
}

// log is a writer to a file for a test, with what it tells the daemon's log.
type log struct {
	*Writer
	path  string
	stats Stats
	told  *observer.ObservedLogs
}

func openLog(t testing.TB, path string, set func(*config.AccessLog)) *log {
	t.Helper()
	c := config.New().AccessLog
	if c.Path = path; set != nil {
		set(&c)
	}
	core, told := observer.New(zap.DebugLevel)
	l := &log{path: path, told: told}
	var err error
	if l.Writer, err = Open(c, &l.stats, zap.New(core)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// await waits until a condition holds.
func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never came: ", what)
		}
	}
}

// Lines of many threads are whole, and none is lost as long as there is room.
func TestManyThreads(t *testing.T) {
	l := openLog(t, filepath.Join(t.TempDir(), "log"), func(c *config.AccessLog) {
		c.Queue, c.Fields = 1<<14, []string{"id", "sni"}
	})
	const threads, each = 4, 3000
	var all sync.WaitGroup
	for i := range threads {
		all.Go(func() {
			for j := range each {
				r := sample()
				r.ID, r.SNI = uint64(i*each+j), strings.Repeat(string(rune('a'+i)), j%50)
				l.Log(&r)
			}
		})
	}
	all.Wait()
	l.Close()
	seen, last := map[uint64]bool{}, map[uint64]uint64{}
	for line := range strings.Lines(read(t, l.path)) {
		var got struct {
			ID  uint64
			SNI string
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		thread, n := got.ID/each, got.ID%each
		if want := strings.Repeat(string(rune('a'+thread)), int(n)%50); got.SNI != want {
			t.Fatalf("a mixed line: %q", line)
		}
		if before, some := last[thread]; seen[got.ID] || some && before >= got.ID {
			t.Fatalf("line %d of thread %d is not in order", n, thread)
		}
		seen[got.ID], last[thread] = true, got.ID
	}
	if len(seen) != threads*each || l.stats.Lines.Load() != threads*each || l.stats.Dropped.Load() != 0 {
		t.Errorf("%d lines, %d counted, %d dropped", len(seen), l.stats.Lines.Load(), l.stats.Dropped.Load())
	}
}

// Logging does not allocate.
func TestLogDoesNotAllocate(t *testing.T) {
	l := openLog(t, filepath.Join(t.TempDir(), "log"), nil)
	r := sample()
	if n := testing.AllocsPerRun(1000, func() { l.queue.put(&r); l.queue.release(l.queue.takeAll()) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A pipe that is not read costs lines, which are counted and reported, and no time. When it is read, whole lines come.
func TestStuckPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	l := openLog(t, path, func(c *config.AccessLog) { c.Queue = 64 })
	const lines = 5000
	slowest := time.Duration(0)
	r := sample()
	for i := range lines {
		r.ID = uint64(i)
		began := time.Now()
		l.Log(&r)
		slowest = max(slowest, time.Since(began))
		if i%16 == 0 {
			time.Sleep(10 * time.Microsecond) // lets the writer run, and fill the pipe
		}
	}
	if slowest > 500*time.Millisecond {
		t.Errorf("a call took %v", slowest)
	}
	await(t, "a report of dropped lines", func() bool {
		return l.told.FilterMessageSnippet("lines dropped").Len() > 0
	})
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var got bytes.Buffer
	go func() {
		await(t, "the lines", func() bool { return l.stats.Lines.Load()+l.stats.Dropped.Load() == lines })
		l.Close()
	}()
	_, _ = got.ReadFrom(reader)
	n := uint64(0)
	for line := range strings.Lines(got.String()) {
		if n++; !json.Valid([]byte(line)) {
			t.Fatalf("not a line: %q", line)
		}
	}
	if n != l.stats.Lines.Load() || n == 0 || n == lines {
		t.Errorf("%d of %d lines, %d counted, %d dropped", n, lines, l.stats.Lines.Load(), l.stats.Dropped.Load())
	}
}

// A writer whose pipe is not read ends nevertheless, soon.
func TestCloseOfStuckPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	l := openLog(t, path, nil)
	r := sample()
	for range 1000 {
		l.Log(&r)
	}
	began := time.Now()
	l.Close()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if n := l.stats.Lines.Load() + l.stats.Dropped.Load(); n != 1000 || l.stats.Dropped.Load() == 0 {
		t.Errorf("%d lines of 1000 are accounted for, %d are dropped", n, l.stats.Dropped.Load())
	}
}

// The file is opened anew after it was renamed, and no line is lost or broken.
func TestReopen(t *testing.T) {
	l := openLog(t, filepath.Join(t.TempDir(), "log"), nil)
	r := sample()
	l.Log(&r)
	await(t, "the first line", func() bool { return l.stats.Lines.Load() == 1 })
	if err := os.Rename(l.path, l.path+".1"); err != nil {
		t.Fatal(err)
	}
	l.Log(&r)
	await(t, "the second line", func() bool { return l.stats.Lines.Load() == 2 })
	l.Reopen()
	await(t, "the new file", func() bool { _, err := os.Stat(l.path); return err == nil })
	l.Log(&r)
	l.Close()
	if old, now := read(t, l.path+".1"), read(t, l.path); strings.Count(old, "\n") != 2 || strings.Count(now, "\n") != 1 {
		t.Errorf("old file:\n%snew file:\n%s", old, now)
	}
}

// If the file cannot be opened anew, the old one is used still.
func TestReopenFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l := openLog(t, filepath.Join(dir, "log"), nil)
	if err := os.Rename(dir, dir+".1"); err != nil {
		t.Fatal(err)
	}
	l.Reopen()
	await(t, "a complaint", func() bool { return l.told.FilterMessageSnippet("cannot reopen").Len() == 1 })
	r := sample()
	l.Log(&r)
	l.Close()
	if got := read(t, filepath.Join(dir+".1", "log")); strings.Count(got, "\n") != 1 {
		t.Errorf("got %q", got)
	}
}

// A full disk is counted and reported, and what is queued is written as soon as there is room.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("tmpfs cannot be mounted: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	l := openLog(t, filepath.Join(dir, "log"), func(c *config.AccessLog) { c.Fields = []string{"id", "why"} })
	rest := filepath.Join(dir, "rest")
	if err := os.WriteFile(rest, make([]byte, 60<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	const lines = 500
	for i := range lines {
		r := sample()
		r.ID = uint64(i)
		l.Log(&r)
	}
	await(t, "an error", func() bool { return l.told.FilterMessageSnippet("cannot write").Len() > 0 })
	if err := os.Remove(rest); err != nil {
		t.Fatal(err)
	}
	await(t, "the lines", func() bool { return l.stats.Lines.Load() == lines })
	l.Close()
	i := 0
	for line := range strings.Lines(read(t, l.path)) {
		if want := fmt.Sprintf(`{"id":%d,"why":"the client has reset the connection"}`+"\n", i); line != want {
			t.Fatalf("got %q, want %q", line, want)
		}
		i++
	}
	if i != lines || l.stats.Errors.Load() == 0 || l.stats.Dropped.Load() != 0 {
		t.Errorf("%d lines, %d errors, %d dropped", i, l.stats.Errors.Load(), l.stats.Dropped.Load())
	}
}

// Two processes append to one file: their lines do not overwrite each other.
func TestTwoWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	a, b := openLog(t, path, nil), openLog(t, path, nil)
	for i := range 200 {
		r := sample()
		a.Log(&r)
		b.Log(&r)
		if i%50 == 0 {
			time.Sleep(15 * time.Millisecond) // each writes several times, between the other's
		}
	}
	a.Close()
	b.Close()
	n := 0
	for line := range strings.Lines(read(t, path)) {
		if n++; !json.Valid([]byte(line)) {
			t.Fatalf("not a line: %q", line)
		}
	}
	if n != 400 {
		t.Errorf("%d lines", n)
	}
}

func TestOpenFails(t *testing.T) {
	for _, c := range []config.AccessLog{
		{Path: t.TempDir()}, {Path: "/nowhere/log"}, {Path: "-", Format: "xml"}, {Path: "-", Fields: []string{"x"}},
		{Path: "-", Format: "text", Template: "{x}"},
	} {
		w, err := Open(c, &Stats{}, zap.NewNop())
		if err == nil {
			w.Close()
			t.Errorf("%+v: no error", c)
		} else if !strings.HasPrefix(err.Error(), "access_log: ") {
			t.Errorf("%v", err)
		}
	}
}

func TestMode(t *testing.T) {
	l := openLog(t, filepath.Join(t.TempDir(), "log"), func(c *config.AccessLog) { c.Mode = 0o604 })
	info, err := os.Stat(l.path)
	if err != nil || info.Mode().Perm() != 0o604 {
		t.Errorf("got %v, %v", info, err)
	}
}

// stuckPipe is a log to a pipe that no program reads, and that takes nothing more.
func stuckPipe(t *testing.T, queue int) *log {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	l := openLog(t, path, func(c *config.AccessLog) { c.Queue = queue })
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	for err == nil {
		_, err = unix.Write(fd, make([]byte, 4096))
	}
	return l
}

// What waits when a log ends, and what has no room, is counted, line by line, and reported by its own log.
func TestLinesOfStuckPipeAreCounted(t *testing.T) {
	l := stuckPipe(t, 16)
	r := sample()
	const lines = 60
	for i := range lines {
		l.Log(&r)
		if i == 0 {
			await(t, "one to be taken", func() bool { return l.queue.queued.Load() == 0 })
		}
	}
	core, others := observer.New(zap.DebugLevel)
	c := l.settings
	c.Path = filepath.Join(t.TempDir(), "log")
	next, err := Open(c, &l.stats, zap.New(core)) // as on a reload that changes the path
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	next.Log(&r)
	next.Close()
	if n, lost := l.stats.Lines.Load(), l.stats.Dropped.Load(); n != 1 || lost != lines {
		t.Errorf("%d were written and %d dropped, want 1 and %d", n, lost, lines)
	}
	told := uint64(0)
	for _, entry := range l.told.FilterMessageSnippet("lines dropped").All() {
		told += entry.ContextMap()["lines"].(uint64)
	}
	if other := others.FilterMessageSnippet("lines dropped").Len(); told != lines || other != 0 {
		t.Errorf("%d lines are reported, and %d reports are of the next log", told, other)
	}
}

// While a file takes nothing, what is dropped is reported about once a second.
func TestDropsAreReportedEverySecond(t *testing.T) {
	t.Parallel()
	l := stuckPipe(t, 16)
	r := sample()

	began := time.Now()
	await(t, "the third report", func() bool {
		l.Log(&r)

		return l.told.FilterMessageSnippet("lines dropped").Len() >= 3
	})
	if took := time.Since(began); took < 1900*time.Millisecond || took > 5*time.Second {
		t.Errorf("three reports in %v", took)
	}
}
