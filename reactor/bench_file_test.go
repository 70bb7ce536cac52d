//go:build linux

package reactor_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

var (
	benchFile = flag.String("bench.file", "", "the file that BenchmarkFileRead reads; default: one of its own")
	benchSize = flag.Int64("bench.size", 16<<20, "its size in bytes, if it is to be made")
	benchCPU  = flag.Int("bench.cpu", -1, "the CPU that BenchmarkFileRead runs on; default: any")
)

// What BenchmarkFileRead reads: a number of blocks at a time, in any order.
const (
	blockSize = 4096
	depth     = 64
)

// BenchmarkFileRead reads 4 KiB blocks at depth 64: from the page cache, and past it. Beside the loops there are
// os.File.ReadAt in 64 goroutines and, if it is installed, fio with its io_uring engine, as it is and with
// submissions in batches.
//
//	go test ./reactor -run - -bench FileRead -benchtime 3s -bench.size 1073741824 -bench.cpu 1
func BenchmarkFileRead(b *testing.B) {
	path := bigFile(b)
	for _, direct := range []bool{false, true} {
		name := "cached"
		if direct {
			name = "direct"
		}
		b.Run(name+"/io_uring", func(b *testing.B) { benchLoop(b, reactor.IOUring, path, direct, false) })
		b.Run(name+"/io_uring fixed", func(b *testing.B) { benchLoop(b, reactor.IOUring, path, direct, true) })
		b.Run(name+"/epoll", func(b *testing.B) { benchLoop(b, reactor.Epoll, path, direct, false) })
		b.Run(name+"/os.File", func(b *testing.B) { benchGoroutines(b, path, direct) })
		b.Run(name+"/fio", func(b *testing.B) { benchFio(b, path, direct) })
		b.Run(name+"/fio in batches", func(b *testing.B) {
			benchFio(b, path, direct,
				"--iodepth_batch_submit=16", "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=64")
		})
		b.Run(name+"/fio fixed in batches", func(b *testing.B) {
			benchFio(b, path, direct,
				"--iodepth_batch_submit=16", "--iodepth_batch_complete_min=1", "--iodepth_batch_complete_max=64", "--fixedbufs=1")
		})
	}
}

// bigFile makes the file, and reads it once so that it is in the page cache.
func bigFile(b *testing.B) string {
	b.Helper()
	path := *benchFile
	if path == "" {
		path = filepath.Join(b.TempDir(), "file")
	}
	if _, err := os.Stat(path); err != nil {
		f, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		chunk := make([]byte, 1<<20)
		for n := int64(0); n < *benchSize; n += int64(len(chunk)) {
			for i := 0; i < len(chunk); i += 8 {
				chunk[i] = byte(rand.Uint32())
			}
			if _, err := f.Write(chunk); err != nil {
				b.Fatal(err)
			}
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			b.Fatal(err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for chunk := make([]byte, 1<<20); ; {
		if n, _ := f.Read(chunk); n == 0 {
			return path
		}
	}
}

func openFlags(direct bool) int {
	if direct {
		return os.O_RDONLY | unix.O_DIRECT
	}
	return os.O_RDONLY
}

// reading is one of the reads that are under way all the time.
type reading struct {
	op    reactor.ReadOp
	all   *readings
	index int
}

// readings are all of them.
type readings struct {
	f      *reactor.File
	blocks int64
	left   int // to be started
	flying int
	done   chan bool
	rng    *rand.Rand
	bufs   [depth][]byte
	fixed  *reactor.FixedBuffers
	ops    [depth]reading
}

func (r *reading) begin() {
	a, i := r.all, r.index
	off := a.rng.Int64N(a.blocks) * blockSize
	if a.fixed != nil {
		a.f.ReadFixedAt(a.fixed.Buffer(i), off).Connect(&r.op, r)
	} else {
		a.f.ReadAt(a.bufs[i], off).Connect(&r.op, r)
	}
	r.op.Start()
}

func (r *reading) SetValue(n int) {
	a := r.all
	switch {
	case n != blockSize:
		panic(n)
	case a.left > 0:
		a.left--
		r.begin()
	default:
		if a.flying--; a.flying == 0 {
			a.done <- true
		}
	}
}

func (r *reading) SetError(err error) { panic(err) }
func (r *reading) SetStopped()        { panic("stopped") }
func (r *reading) Env() sender.Env    { return sender.EmptyEnv{} }

func benchLoop(b *testing.B, kind reactor.RingKind, path string, direct, fixed bool) {
	need(b, kind)
	cfg := reactor.LoopConfig{Ring: kind}
	if *benchCPU >= 0 {
		cfg.CPUs = []int{*benchCPU}
	}
	r := run(b, cfg)
	f := r.open(path, openFlags(direct))
	all := &readings{
		f: f, blocks: fileSize(b, path) / blockSize, left: b.N,
		done: make(chan bool, 1), rng: rand.New(rand.NewPCG(1, 2)),
	}
	for i := range all.bufs {
		all.bufs[i] = reactor.AlignedBuffer(blockSize)
		all.ops[i].all, all.ops[i].index = all, i
	}
	if fixed {
		r.do(func() { all.fixed, _ = r.NewFixedBuffers(depth, blockSize) })
	}
	b.SetBytes(blockSize)
	b.ResetTimer()
	cpu := cpuTime()
	r.do(func() {
		all.flying = min(depth, b.N)
		all.left -= all.flying
		for i := range all.flying {
			all.ops[i].begin()
		}
	})
	<-all.done
	b.StopTimer()
	b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N), "cpu-ns/op")
	r.closeFiles(f)
	r.end()
}

func benchGoroutines(b *testing.B, path string, direct bool) {
	if *benchCPU >= 0 { // threads are made from those that there are
		runtime.LockOSThread()
		var set unix.CPUSet
		set.Set(*benchCPU)
		before := affinities(b, &set)
		defer before()
	}
	f, err := os.OpenFile(path, openFlags(direct), 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	blocks := fileSize(b, path) / blockSize
	b.SetBytes(blockSize)
	b.ResetTimer()
	cpu := cpuTime()
	var next atomic.Int64
	var wg sync.WaitGroup
	for g := range depth {
		wg.Go(func() {
			rng, buf := rand.New(rand.NewPCG(1, uint64(g))), reactor.AlignedBuffer(blockSize)
			for next.Add(1) <= int64(b.N) {
				if _, err := f.ReadAt(buf, rng.Int64N(blocks)*blockSize); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(cpuTime()-cpu)/float64(b.N), "cpu-ns/op")
}

// affinities binds all threads of the process to the CPUs of set, until what it returns is called.
func affinities(b *testing.B, set *unix.CPUSet) (undo func()) {
	b.Helper()
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		b.Fatal(err)
	}
	each := func(set *unix.CPUSet) {
		tasks, _ := os.ReadDir("/proc/self/task")
		for _, task := range tasks {
			var tid int
			if _, err := fmt.Sscan(task.Name(), &tid); err == nil {
				_ = unix.SchedSetaffinity(tid, set)
			}
		}
	}
	each(set)
	return func() { each(&before) }
}

// benchFio has fio do the same for as long as such a benchmark lasts.
func benchFio(b *testing.B, path string, direct bool, more ...string) {
	fio, err := exec.LookPath("fio")
	if err != nil {
		b.Skip(err)
	}
	seconds := flag.Lookup("test.benchtime").Value.String()
	if d, err := time.ParseDuration(seconds); err != nil || d < time.Second {
		b.Skip("it takes seconds: see -benchtime")
	}
	args := []string{
		"--name=read", "--filename=" + path, "--readonly", "--rw=randread", "--bs=4k", fmt.Sprintf("--iodepth=%d", depth),
		"--ioengine=io_uring", "--norandommap", "--randrepeat=0", "--invalidate=0", "--time_based", "--runtime=" + seconds,
		"--gtod_reduce=1", "--output-format=json", fmt.Sprintf("--direct=%d", map[bool]int{true: 1}[direct])}
	if *benchCPU >= 0 {
		args = append(args, fmt.Sprintf("--cpus_allowed=%d", *benchCPU))
	}
	out, err := exec.Command(fio, append(args, more...)...).Output()
	if err != nil {
		b.Fatal(err)
	}
	var result struct {
		Jobs []struct {
			Read struct {
				IOPS float64 `json:"iops"`
			} `json:"read"`
			User   float64 `json:"usr_cpu"` // percent
			System float64 `json:"sys_cpu"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal(out, &result); err != nil || len(result.Jobs) != 1 {
		b.Fatalf("fio says %q: %v", out, err)
	}
	job := result.Jobs[0]
	b.ReportMetric(1e9/job.Read.IOPS, "ns/op")
	b.ReportMetric((job.User+job.System)/100*1e9/job.Read.IOPS, "cpu-ns/op")
	b.ReportMetric(job.Read.IOPS*blockSize/1e6, "MB/s")
}

func fileSize(b *testing.B, path string) int64 {
	b.Helper()
	st, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return st.Size()
}

// cpuTime is the CPU time that the process has used, in nanoseconds.
func cpuTime() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
