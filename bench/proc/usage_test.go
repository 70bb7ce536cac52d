package proc

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestCPUTimeCountsWhatIsBurnt(t *testing.T) {
	before, err := CPUTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	// The CPU time that the process itself reads must also be read from outside.
	const burn = 20 * time.Millisecond
	for begin := cpuTime(t); cpuTime(t)-begin < burn; {
	}
	after, err := CPUTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if after-before < burn/2 {
		t.Errorf("the CPU clock went on by %v while %v were burnt", after-before, burn)
	}
}

func cpuTime(t *testing.T) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

func TestCPUTimeOfNoProcess(t *testing.T) {
	const beyond = 1 << 22 // PID_MAX_LIMIT of include/linux/threads.h
	if _, err := CPUTime(beyond + 1); !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EINVAL) {
		t.Errorf("the CPU clock of no process: %v", err)
	}
}

func TestRSSSeesTouchedMemory(t *testing.T) {
	const size = 32 << 20
	before, err := RSS(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	for i := 0; i < size; i += os.Getpagesize() {
		m[i] = 1
	}
	after, err := RSS(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if grown := after - before; grown < size*3/4 || grown > size*2 {
		t.Errorf("RSS grew by %d bytes when %d were touched", grown, size)
	}
}

func TestParseRSS(t *testing.T) {
	rollup := "00400000-7fff00000000 ---p 00000000 00:00 0 [rollup]\n" +
		"Rss:                1724 kB\nPss:                 210 kB\nPss_Anon:             96 kB\n"
	if n, err := parseRSS([]byte(rollup)); n != 1724<<10 || err != nil {
		t.Errorf("parseRSS = %d, %v", n, err)
	}
	if _, err := parseRSS([]byte("Pss:  210 kB\n")); err == nil {
		t.Error("a rollup without Rss was taken")
	}
}

func TestParseWait(t *testing.T) {
	if d, err := parseWait([]byte("152087 3405 27\n")); d != 3405 || err != nil {
		t.Errorf("parseWait = %v, %v", d, err)
	}
	for _, bad := range []string{"", "12", "12 x 3"} {
		if _, err := parseWait([]byte(bad)); err == nil {
			t.Errorf("parseWait took %q", bad)
		}
	}
}

func TestThreadsAndDescriptorsAreCounted(t *testing.T) {
	threads, err := Threads(os.Getpid(), os.Getpid())
	if err != nil || threads < 2 {
		t.Errorf("%d threads of this process twice: %v", threads, err)
	}
	before, err := Descriptors(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if after, err := Descriptors(os.Getpid()); err != nil || after != before+1 {
		t.Errorf("%d descriptors, and %d before one more was open: %v", after, before, err)
	}
	const beyond = 1 << 22 // PID_MAX_LIMIT of include/linux/threads.h
	for _, count := range []func(...int) (int, error){Threads, Descriptors} {
		if _, err := count(beyond + 1); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("of no process: %v", err)
		}
	}
}
