//go:build linux

package epoll

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// The operations of FuzzFiles.
const (
	fRead = iota
	fWrite
	fReadv
	fWritev
	fReadFixed
	fWriteFixed
	fReadMulti
	fFsync
	fFallocate
	fFtruncate
	fOpenat
	fStatx
	fRenameat
	fUnlinkat
	fMkdirat
	fSymlinkat
	fLinkat
	fSplice
	fTee
	fWaitid
	fClose
	fCancel
	fProvide
	fileOps
)

var fileOpNames = [fileOps]string{
	"read", "write", "readv", "writev", "readFixed", "writeFixed", "readMulti", "fsync", "fallocate", "ftruncate",
	"openat", "statx", "renameat", "unlinkat", "mkdirat", "symlinkat", "linkat",
	"splice", "tee", "waitid", "close", "cancel", "provide",
}

// The descriptors of a world. The first ones are slots: opens fill them, and closes empty them.
const (
	slots = 6
)

const (
	fdDir = slots + iota
	fdReadOnly
	fdWriteOnly
	fdAppend
	fdDirect
	fdPath
	fdMem
	fdNull
	fdZero
	fdProc    // plain, without a way to read it immediately
	fdSysctl  // of procfs, can be waited for
	fdPipeAIn // where pipe A is read
	fdPipeAOut
	fdPipeBIn
	fdPipeBOut
	fdEvent
	fdSocketA
	fdSocketB
	fdBad
	fileFds
)

var fileFdNames = [fileFds]string{
	"slot0", "slot1", "slot2", "slot3", "slot4", "slot5", "dir", "readOnly", "writeOnly", "append", "direct",
	"path", "memfd", "null", "zero",
	"proc", "sysctl", "pipeAIn", "pipeAOut", "pipeBIn", "pipeBOut", "event", "socketA", "socketB", "bad",
}

// The faults of an entry; any number from faults on is none.
const (
	addrNull = iota
	addrBad
	badIoprio
	withBufIndex
	withFileIndex
	withAddr3
	withSelect
	badOpFlags
	faults
)

const stepLen = 6

// fileStep is one step of a program.
type fileStep struct{ op, fd, a, b, c, fault int }

// decode makes a step of six bytes. Most steps on paths use the directory.
func decode(p []byte) fileStep {
	s := fileStep{int(p[0]) % fileOps, int(p[1]) % fileFds, int(p[2]), int(p[3]), int(p[4]), int(p[5]) % 32}
	if s.op >= fOpenat && s.op <= fLinkat && p[5]>>5 != 0 {
		s.fd = fdDir
	}
	if s.op == fCancel {
		s.a %= 8
	}
	return s
}

func (s fileStep) String() string {
	return fmt.Sprintf("%s(%s, %d, %d, %d) fault %d", fileOpNames[s.op], fileFdNames[s.fd], s.a, s.b, s.c, s.fault)
}

// fileOutcome is the part of a completion that is compared.
type fileOutcome struct {
	res   int32
	flags uint32
	data  []byte
}

func (o fileOutcome) equal(p fileOutcome) bool {
	return o.res == p.res && o.flags == p.flags && bytes.Equal(o.data, p.data)
}

func (o fileOutcome) String() string { return fmt.Sprintf("{%d %#x %.64q}", o.res, o.flags, o.data) }

// fileEntry is an entry of a step.
type fileEntry struct {
	step fileStep
	busy []int  // the descriptors that others keep off while it is pending
	into []byte // what it may write to
	done bool
	log  []fileOutcome

	repeated bool // a cancel: see missed
}

const (
	areas   = 128
	areaLen = 16 << 10
)

// fileWorld is a ring with descriptors, a directory and memory.
type fileWorld struct {
	*rig
	dir       string
	fds       [fileFds]int
	mem       []byte // areas for entries, then a page that cannot be touched
	fixed     []byte
	next      uint64
	pending   map[uint64]*fileEntry
	fresh     []uint64 // entries with completions that were not compared yet
	completed int
	moves     int // bytes of the last read or write
	spare     []uint16
	child     *exec.Cmd
}

func newFileWorld(tb testing.TB, r ring) *fileWorld {
	w := &fileWorld{rig: newRig(tb, r), pending: map[uint64]*fileEntry{}}
	for i := range uint16(bufCount) {
		w.spare = append(w.spare, i)
	}
	var err error
	w.dir, err = os.MkdirTemp("/dev/shm", "reactord") //nolint:usetesting // it is in memory, which makes the difference
	w.check(err)
	w.mem, err = unix.Mmap(-1, 0, areas*areaLen+4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	w.check(err)
	w.check(unix.Mprotect(w.mem[areas*areaLen:], unix.PROT_NONE))
	w.fixed, err = unix.Mmap(-1, 0, areaLen, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	w.check(err)
	w.check(r.(interface{ RegisterFixedBuffers([][]byte) error }).RegisterFixedBuffers([][]byte{w.fixed}))
	w.child = exec.Command("sleep", "1000000")
	w.child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	w.check(w.child.Start())
	return w
}

func (w *fileWorld) close() {
	w.check(os.RemoveAll(w.dir))
	w.check(w.child.Process.Kill())
	_ = w.child.Wait()
	for _, f := range slices.Backward(w.TB.(*panicker).cleanups) {
		f()
	}
	w.TB.(*panicker).cleanups = nil
}

// begin makes the descriptors and files that every program begins with.
func (w *fileWorld) begin() {
	w.next = 0
	clear(w.pending)
	open := func(name string, flags int) int {
		if !filepath.IsAbs(name) {
			name = filepath.Join(w.dir, name)
		}
		fd, err := unix.Open(name, flags|unix.O_CLOEXEC, 0o644)
		w.check(err)
		return fd
	}
	for i := range slots {
		w.fds[i] = -1
	}
	w.fds[fdDir] = open("", unix.O_DIRECTORY)
	w.fds[fdWriteOnly] = open("a", unix.O_CREAT|unix.O_WRONLY)
	_, err := unix.Write(w.fds[fdWriteOnly], bytes.Repeat([]byte("0123456789abcdef"), 400))
	w.check(err)
	w.fds[fdReadOnly] = open("a", 0)
	w.fds[fdAppend] = open("a", unix.O_RDWR|unix.O_APPEND)
	w.fds[fdDirect] = open("a", unix.O_RDWR|unix.O_DIRECT)
	w.fds[fdPath] = open("a", unix.O_PATH)
	w.fds[fdNull] = open("/dev/null", unix.O_RDWR)
	w.fds[fdZero] = open("/dev/zero", unix.O_RDWR)
	w.fds[fdProc] = open("/proc/self/limits", 0)
	w.fds[fdSysctl] = open("/proc/sys/kernel/ostype", 0)
	w.fds[fdMem], err = unix.MemfdCreate("x", unix.MFD_CLOEXEC)
	w.check(err)
	var p [2]int
	w.check(unix.Pipe2(p[:], unix.O_CLOEXEC))
	w.fds[fdPipeAIn], w.fds[fdPipeAOut] = p[0], p[1]
	w.check(unix.Pipe2(p[:], unix.O_CLOEXEC))
	w.fds[fdPipeBIn], w.fds[fdPipeBOut] = p[0], p[1]
	w.fds[fdEvent], err = unix.Eventfd(3, unix.EFD_CLOEXEC)
	w.check(err)
	p, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	w.check(err)
	w.fds[fdSocketA], w.fds[fdSocketB] = p[0], p[1]
	w.fds[fdBad] = 1 << 20
	w.check(unix.Mkdir(filepath.Join(w.dir, "d"), 0o755))
	w.check(unix.Symlink("a", filepath.Join(w.dir, "l")))
	w.check(unix.Mkfifo(filepath.Join(w.dir, "fifo"), 0o644))
	for i := range w.fixed {
		w.fixed[i] = byte(i)
	}
}

// end closes and removes everything.
func (w *fileWorld) end() {
	for _, fd := range w.fds[:fdBad] {
		if fd >= 0 {
			w.rig.close(fd)
		}
	}
	w.remove(w.dir, true)
}

func (w *fileWorld) remove(dir string, keep bool) {
	names, err := os.ReadDir(dir)
	w.check(err)
	for _, n := range names {
		path := filepath.Join(dir, n.Name())
		if n.IsDir() {
			w.remove(path, false)
		} else {
			w.check(unix.Unlink(path))
		}
	}
	if !keep {
		w.check(unix.Rmdir(dir))
	}
}

// tree describes the files.
func (w *fileWorld) tree() string {
	var b strings.Builder
	w.check(filepath.Walk(w.dir, func(path string, info os.FileInfo, err error) error {
		w.check(err)
		fmt.Fprintf(&b, "%s %v", path[len(w.dir):], info.Mode())
		switch {
		case info.Mode().IsRegular():
			fd, err := unix.Open(path, 0, 0)
			w.check(err)
			n, err := unix.Pread(fd, w.area(0), 0)
			w.check(err)
			w.check(unix.Close(fd))
			fmt.Fprintf(&b, " %d %x", info.Size(), bytes.TrimRight(w.area(0)[:n], "\x00"))
		case info.Mode()&os.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			b.WriteString(target)
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

// area is memory for an entry.
func (w *fileWorld) area(ud uint64) []byte { return w.mem[int(ud)%areas*areaLen:][:areaLen] }

// keepsOff returns the descriptors on which other entries would race with the pending entry of the step.
func (s fileStep) keepsOff() []int {
	switch s.op {
	case fRead, fReadv, fReadFixed, fReadMulti, fWrite, fWritev, fWriteFixed:
		return []int{s.fd}
	case fSplice, fTee:
		from := s.a % fileFds
		if from == fdSocketA || from == fdSocketB {
			// The kernel holds the pipe's lock while it waits for the socket.
			return []int{from, fdPipeAIn, fdPipeAOut, fdPipeBIn, fdPipeBOut, s.fd}
		}
		return []int{s.fd, from}
	}
	return nil
}

// allowed reports whether the outcome of a step is determined.
func (w *fileWorld) allowed(s fileStep) bool {
	for _, p := range w.pending {
		if p.done {
			continue
		}
		for _, fd := range p.busy {
			if s.op != fCancel && s.op != fProvide &&
				(slices.Contains(s.keepsOff(), fd) || s.op == fClose && s.fd == fd) {
				return false
			}
		}
		if s.op == fWaitid && p.step.op == s.op {
			return false
		}
	}
	switch {
	case s.op == fClose && s.fd >= slots && s.fd != fdBad:
		return false
	case s.fd == fdZero && (s.op == fReadv || pick(fileSizes, s.a) > 4096):
		return false // a signal cuts it short
	case s.op == fFallocate && s.fd == fdMem && pick(fileLengths, s.c) > 1<<32:
		return false // nothing but the memory of the machine bounds it
	case s.op == fReadv && s.fault == withSelect:
		return false // which only the kernel knows
	case s.op == fReadMulti && s.fd == fdSysctl:
		return false // the kernel reads once more at its own offset
	}
	return w.next < areas && (s.op != fOpenat || !s.opensFifo())
}

// opensFifo reports whether the step opens a FIFO in a way that waits in a worker thread of the kernel.
func (s fileStep) opensFifo() bool {
	return filePaths[s.a%len(filePaths)] == "fifo" && fileOpens[s.b%len(fileOpens)]&(unix.O_CREAT|unix.O_TRUNC) != 0
}

var (
	fileOffsets = []uint64{0, 1, 10, 4095, 4096, 8192, 1 << 18, ^uint64(0), ^uint64(0), 0, 0, 1 << 62, ^uint64(1),
		1<<63 - 1, 6400, 6390}
	fileSizes = []uint32{0, 1, 7, 8, 64, 512, 4096, 5000, 8192, 16, 3}
	// None leads out of the directory: the other world has its own directory.
	filePaths = []string{
		"a", "b", "c", "d", "d/x", "d/y", "l", "fifo", ".", "", "missing/x", "a/x", "d//y", "./b", "e",
		strings.Repeat("n", 300), strings.Repeat("p/", 3000),
	}
	fileOpens = []uint32{
		0, unix.O_WRONLY, unix.O_RDWR, unix.O_RDWR | unix.O_CREAT, unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY,
		unix.O_RDWR | unix.O_TRUNC,
		unix.O_DIRECTORY, unix.O_NOFOLLOW, unix.O_PATH, unix.O_RDWR | unix.O_APPEND | unix.O_CREAT,
		unix.O_TMPFILE | unix.O_RDWR,
		unix.O_NONBLOCK, unix.O_RDWR | unix.O_DIRECT, unix.O_CLOEXEC, 3, 1 << 30, unix.O_PATH | unix.O_NOFOLLOW,
		unix.O_NOATIME,
	}
	fileModes   = []uint32{0o644, 0, 0o777, 0o1755, 1 << 20}
	renameFlags = []uint32{0, 0, unix.RENAME_NOREPLACE, unix.RENAME_EXCHANGE,
		unix.RENAME_NOREPLACE | unix.RENAME_EXCHANGE, 8}
	linkFlags   = []uint32{0, 0, unix.AT_SYMLINK_FOLLOW, unix.AT_EMPTY_PATH, 1}
	statxChoice = []uint32{0, unix.AT_EMPTY_PATH, unix.AT_SYMLINK_NOFOLLOW, unix.AT_STATX_DONT_SYNC, 1, 0x6000}
	statxMasks  = []uint32{unix.STATX_BASIC_STATS, 0, unix.STATX_ALL, 1 << 31}
	fallocModes = []uint32{0, unix.FALLOC_FL_KEEP_SIZE, unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE,
		unix.FALLOC_FL_PUNCH_HOLE, 1 << 20}
	fileLengths  = []uint64{0, 1, 100, 4096, 10000, 1 << 18, 1 << 62, 1 << 63}
	spliceChoice = []uint32{0, 0, unix.SPLICE_F_NONBLOCK, unix.SPLICE_F_MOVE, unix.SPLICE_F_MORE, 32}
	waitTypes    = []int{unix.P_ALL, unix.P_PID, unix.P_PGID, unix.P_PIDFD, 9}
	waitOptions  = []int{unix.WEXITED, unix.WEXITED | unix.WNOHANG, unix.WSTOPPED, 0, unix.WEXITED | unix.WNOWAIT,
		1 << 20}
)

func pick[T any](from []T, n int) T { return from[n%len(from)] }

// step pushes the entry of a step.
func (w *fileWorld) step(s fileStep) {
	ud := w.next
	w.next++
	e := &fileEntry{step: s}
	w.pending[ud] = e
	w.encode(s, ud, e)
	w.sqe.UserData = ud
	w.damage(s)
	e.busy = s.keepsOff()
	w.Push(&w.sqe)
}

// cancel pushes a cancel of an entry.
func (w *fileWorld) cancel(target uint64) {
	ud := w.next
	w.next++
	w.pending[ud] = &fileEntry{step: fileStep{op: fCancel, a: int(ud - target)}}
	w.sqe.PrepCancel(target)
	w.sqe.UserData = ud
	w.Push(&w.sqe)
}

// text puts a string into memory.
func (w *fileWorld) text(at []byte, s string) unsafe.Pointer {
	at[copy(at, s)] = 0
	return ptr(at)
}

func (w *fileWorld) encode(s fileStep, ud uint64, e *fileEntry) {
	sqe, fd, area := &w.sqe, w.fds[s.fd], w.area(ud)
	size, off := pick(fileSizes, s.a), pick(fileOffsets, s.b)
	w.moves = int(size)
	e.into = area[:size]
	for i := range e.into {
		e.into[i] = byte(i) ^ byte(ud)
	}
	switch s.op {
	case fRead:
		sqe.PrepRead(fd, ptr(e.into), size, off)
	case fWrite:
		sqe.PrepWrite(fd, ptr(e.into), size, off)
	case fReadv, fWritev:
		w.encodeVector(s, fd, area, e, off)
	case fReadFixed, fWriteFixed:
		at := int(pick(fileOffsets, s.c) % uint64(areaLen)) // may reach over the end
		e.into = nil
		sqe.PrepReadFixed(fd, unsafe.Add(ptr(w.fixed), at), size, off, uint16(s.c>>6&1))
		if s.op == fWriteFixed {
			sqe.Opcode = uring.OpWriteFixed
		} else if at+int(size) <= areaLen {
			e.into = w.fixed[at:][:size]
		}
	case fReadMulti:
		e.into = nil
		sqe.PrepReadMultishot(fd, 0)
	case fFsync:
		sqe.PrepFsync(fd, uint32(s.a%3))
		if s.b&1 != 0 {
			sqe.Off, sqe.Len = pick(fileOffsets, s.b>>1), size
		}
	case fFallocate:
		sqe.PrepFallocate(fd, pick(fallocModes, s.a), off%(1<<40), pick(fileLengths, s.c))
	case fFtruncate:
		sqe.PrepFtruncate(fd, pick(fileLengths, s.a))
	case fSplice, fTee:
		w.encodeSplice(s)
	case fWaitid:
		w.encodeWaitid(s, area, e)
	case fClose:
		sqe.PrepClose(fd)
		if s.fd < slots {
			w.fds[s.fd] = -1
		}
	case fCancel:
		sqe.PrepCancel(ud - min(uint64(s.a%areas), ud))
	case fProvide:
		sqe.PrepNop()
		for _, id := range w.spare {
			w.ProvideBuffer(0, id)
		}
		w.spare = w.spare[:0]
	default:
		w.encodePath(s, fd, area, e)
	}
}

func (w *fileWorld) encodeVector(s fileStep, fd int, area []byte, e *fileEntry, off uint64) {
	const most = 12
	e.into = area[:8<<10]
	for i := range e.into {
		e.into[i] = byte(i * 7)
	}
	vec := unsafe.Slice((*vector)(ptr(area[12<<10:])), most)
	at, n := 0, s.a%most
	w.moves = 0
	for i := range vec {
		size := min((s.a*31+i*s.c*57)%1500*(i&1), len(e.into)-at)
		vec[i] = vector{uintptr(ptr(area)) + uintptr(at), uintptr(size)}
		at += size
		if i < n {
			w.moves += size
		}
	}
	switch s.c % 16 {
	case 1:
		vec[1].size = ^(^uintptr(0) >> 1) // more than an address space has
	case 2:
		vec[1].base = 0
	case 3:
		n = 1025
	}
	if s.op == fReadv {
		w.sqe.PrepReadv(fd, ptr(area[12<<10:]), uint32(n), off)
	} else {
		w.sqe.PrepWritev(fd, ptr(area[12<<10:]), uint32(n), off)
	}
}

func (w *fileWorld) encodeSplice(s fileStep) {
	from := w.fds[s.a%fileFds]
	size, flags := pick(fileSizes, s.b), pick(spliceChoice, s.c)
	if s.op == fTee {
		w.sqe.PrepTee(from, w.fds[s.fd], size, flags)
		return
	}
	in, out := uring.FilePosition, uring.FilePosition
	if s.c&64 != 0 {
		in = pick(fileOffsets, s.b>>3)
	}
	if s.c&128 != 0 {
		out = pick(fileOffsets, s.b>>4)
	}
	w.sqe.PrepSplice(from, in, w.fds[s.fd], out, size, flags)
}

func (w *fileWorld) encodeWaitid(s fileStep, area []byte, e *fileEntry) {
	ids := []int{w.child.Process.Pid, w.child.Process.Pid, 1, -1, 0}
	e.into = area[:unsafe.Sizeof(childInfo{})]
	p := ptr(area)
	if s.c%4 == 0 {
		p, e.into = nil, nil
	}
	w.sqe.PrepWaitid(pick(waitTypes, s.a), pick(ids, s.b), pick(waitOptions, s.c), p)
}

func (w *fileWorld) encodePath(s fileStep, fd int, area []byte, e *fileEntry) {
	sqe := &w.sqe
	e.into = nil
	first, second := area[:7<<10], area[7<<10:14<<10]
	path := w.text(first, pick(filePaths, s.a))
	switch s.op {
	case fOpenat:
		sqe.PrepOpenat(fd, path, pick(fileOpens, s.b), pick(fileModes, s.c))
	case fStatx:
		e.into = second[:unsafe.Sizeof(unix.Statx_t{})]
		clear(e.into)
		sqe.PrepStatx(fd, path, pick(statxChoice, s.b), pick(statxMasks, s.c), ptr(second))
	case fUnlinkat:
		sqe.PrepUnlinkat(fd, path, pick([]uint32{0, 0, unix.AT_REMOVEDIR, 1}, s.b))
	case fMkdirat:
		sqe.PrepMkdirat(fd, path, pick(fileModes, s.b))
	case fRenameat, fLinkat, fSymlinkat:
		w.encodeTwoPaths(s, fd, path, second)
	}
}

func (w *fileWorld) encodeTwoPaths(s fileStep, fd int, path unsafe.Pointer, at []byte) {
	other := w.text(at, pick(filePaths, s.b))
	if pick(filePaths, s.a) == "fifo" {
		path = w.text(w.area(w.next-1), "a") // a FIFO by another name could be opened so that it waits
	}
	to := w.fds[fdDir]
	if s.c&64 != 0 {
		to = w.fds[s.c%fileFds]
	}
	switch s.op {
	case fRenameat:
		if pick(filePaths, s.b) == "fifo" {
			other = w.text(at, "b")
		}
		w.sqe.PrepRenameat(fd, path, to, other, pick(renameFlags, s.c))
	case fLinkat:
		w.sqe.PrepLinkat(fd, path, to, other, pick(linkFlags, s.c))
	case fSymlinkat:
		w.sqe.PrepSymlinkat(path, fd, other)
	}
}

// damage applies the fault of a step to its entry.
func (w *fileWorld) damage(s fileStep) {
	sqe := &w.sqe
	if s.op == fProvide || s.op == fCancel {
		return
	}
	pointed := s.op != fFsync && s.op != fFtruncate && s.op != fSplice && s.op != fTee && s.op != fWaitid &&
		s.op != fFallocate && s.op != fReadMulti && s.op != fClose
	switch s.fault {
	case addrNull, addrBad:
		if pointed {
			sqe.Addr = 0
			if s.fault == addrBad {
				sqe.Addr = uint64(uintptr(ptr(w.mem[areas*areaLen:])))
			}
		}
	case badIoprio:
		sqe.Ioprio = 3
	case withBufIndex:
		sqe.BufIndex = 1
	case withFileIndex:
		if s.op != fSplice && s.op != fTee && s.op != fWaitid && s.op != fOpenat {
			sqe.FileIndex = 5
		}
	case withAddr3:
		sqe.Addr3 = 1
	case withSelect:
		sqe.Flags |= uring.SQEBufferSelect
	case badOpFlags:
		if s.op > fReadMulti { // reads and writes have no flags here
			sqe.OpFlags |= 1 << 29
		}
	}
}

// pump runs the ring once, waits for completions up to the limit, and records them.
func (w *fileWorld) pump(limit time.Duration) (moved bool) {
	w.check(w.Enter(limit))
	for w.Pop(&w.cqe) {
		moved = true
		w.note(w.cqe)
	}
	return moved
}

// pumpUntilIdle runs this package's ring until its pool has nothing to do and nothing completes.
func (w *fileWorld) pumpUntilIdle() {
	r := w.ring.(*Ring)
	for deadline := time.Now().Add(patience); ; {
		moved := w.pump(0)
		if r.pool.busy() || r.direct.inFlight != 0 {
			w.pump(time.Millisecond)
		} else if !moved {
			return
		}
		if time.Now().After(deadline) {
			w.Fatal("the pool does not become idle")
		}
	}
}

// busy reports whether a call is queued, is being made, or has a result that was not collected.
func (p *pool) busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.queue.Empty() || p.idle != p.workers || len(p.results) != 0
}

func (w *fileWorld) note(c uring.CQE) {
	e := w.pending[c.UserData]
	if e == nil || e.done {
		w.Fatalf("%+v: there is no such entry", c)
	}
	if w.missed(e, c) {
		return
	}
	o := fileOutcome{res: c.Res, flags: c.Flags & (more | picked)}
	if id, ok := c.BufferID(); ok {
		if c.Res > 0 {
			o.data = []byte(w.buffer(c))
		}
		w.spare = append(w.spare, id)
	} else if c.Res >= 0 {
		o.data = w.result(e, c.Res)
	}
	switch {
	case c.Res >= 0 && e.step.op == fOpenat:
		o.data = w.opened(e, int(c.Res))
		o.res = 0
	case e.step.op == fSplice || e.step.op == fTee:
		// A cancel interrupts the kernel's, which then completes with -ERESTARTSYS.
		if c.Res == -512 || c.Res == -int32(unix.EINTR) {
			o.res = -int32(unix.ECANCELED)
		}
	case e.step.op == fCancel:
		// To the kernel, an entry that is interrupted cannot be stopped, nor for a moment can one whose worker thread
		// has just done its work; and the cancel of a wait for a child completes with 1.
		target := w.pending[e.target(c.UserData)]
		switch {
		case e.repeated:
			o.res = 0
		case c.Res == -int32(unix.EALREADY) && (target == nil || target.done):
			o.res = -int32(unix.ENOENT)
		case c.Res == -int32(unix.EALREADY) || c.Res == 1:
			o.res = 0
		}
	}
	e.done = !c.More()
	e.log = append(e.log, o)
	w.fresh = append(w.fresh, c.UserData)
	w.completed++
}

// target is the user_data of the entry that the cancel with user_data ud cancels.
func (e *fileEntry) target(ud uint64) uint64 { return ud - min(uint64(e.step.a%areas), ud) }

// missed repeats a cancel that the kernel has completed with ENOENT although its target is pending: the kernel does
// not find an entry that is passed from one worker thread to another.
func (w *fileWorld) missed(e *fileEntry, c uring.CQE) bool {
	if _, ours := w.ring.(*Ring); ours || e.step.op != fCancel || c.Res != -int32(unix.ENOENT) {
		return false
	}
	ud := e.target(c.UserData)
	target := w.pending[ud]
	if target == nil || target.done || target.step.op != fSplice && target.step.op != fTee {
		return false
	}
	e.repeated = true
	w.sqe.PrepCancel(ud)
	w.sqe.UserData = c.UserData
	w.Push(&w.sqe)
	return true
}

// result returns what an entry has stored.
func (w *fileWorld) result(e *fileEntry, res int32) []byte {
	switch e.step.op {
	case fRead, fReadFixed:
		return bytes.Clone(e.into[:min(int(res), len(e.into))])
	case fReadv, fWaitid:
		return bytes.Clone(e.into)
	case fStatx:
		st := (*unix.Statx_t)(ptr(e.into))
		return fmt.Append(nil, st.Mode, st.Nlink, st.Size*uint64(1-st.Mode&unix.S_IFDIR>>14&1), st.Uid)
	}
	return nil
}

func (w *fileWorld) flagsOf(fd int) []byte {
	status, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return fmt.Append(nil, status, flags)
}

// opened keeps a descriptor in a slot.
func (w *fileWorld) opened(e *fileEntry, fd int) []byte {
	data := w.flagsOf(fd)
	slot := e.step.c % slots
	var st unix.Stat_t
	w.check(unix.Fstat(fd, &st))
	if st.Mode&unix.S_IFMT == unix.S_IFIFO {
		w.rig.close(fd) // of which the kernel says what is wrong with an entry only when it is ready
		return data
	}
	for _, p := range w.pending {
		if !p.done && slices.Contains(p.busy, slot) {
			w.rig.close(fd)
			return data
		}
	}
	if old := w.fds[slot]; old >= 0 {
		w.rig.close(old)
	}
	w.fds[slot] = fd
	return data
}
