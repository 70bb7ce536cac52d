package conformance

import (
	"bytes"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sendertest"
)

var (
	noStream = never("it is about no stream")
	noReset  = never("only connections are reset")
)

// filed returns the cells of operations on files and paths, whose value is v. They wait for storage only. Whether a
// stop request or a close comes before that has begun depends on threads.
func filed(v expectation) cells {
	return instant.with(cells{
		successImmediately:     v,
		endOfFile:              noStream,
		resetBefore:            noReset,
		stoppedWhileQueued:     orStopped(v),
		stoppedElsewhereQueued: orStopped(v),
		stoppedAfterCompletion: orStopped(v),
		stoppedFromCallback:    v,
		reused:                 v.then(v),
		closedBefore:           fails(fs.ErrClosed),
		closedWhileQueued:      orClosed(v),
		closedFromCallback:     v,
	})
}

// orValue allows the value n instead of e.
func orValue(e expectation, n int) expectation {
	return e.each(func(c completion) completion { return c.or(completion{channel: sendertest.OnValue, n: n}) })
}

// orStopped allows stopped instead of e: the order of threads decides.
func orStopped(e expectation) expectation {
	return e.each(func(c completion) completion { return c.or(completion{channel: sendertest.OnStopped}) })
}

// orClosed allows fs.ErrClosed instead of e: the order of threads decides.
func orClosed(e expectation) expectation {
	return e.each(func(c completion) completion {
		return c.or(completion{channel: sendertest.OnError, errs: []error{fs.ErrClosed}})
	})
}

// fileMoves returns the cells of an operation that moves n bytes.
func fileMoves(n int) cells { return filed(moves(n)) }

// wholeFile returns the cells of an operation that moves n bytes and completes when all is moved, or when it is
// stopped.
func wholeFile(n int) cells {
	c := fileMoves(n).whole()
	for _, name := range []string{stoppedWhileQueued, stoppedElsewhereQueued, stoppedAfterCompletion} {
		c[name] = orStopped(value(some))
	}
	c[closedWhileQueued] = orClosed(value(some))
	return c
}

// pathed returns the cells of an operation that succeeds once: a second start fails.
func pathed(second error) cells {
	return filed(value(0)).with(cells{reused: value(0).then(fails(second))})
}

var files = []row{
	{"open", false, openFile, filed(value(1))},
	{"read at", false, readAt(0), fileMoves(len(hello)).with(cells{endOfFile: value(0)})},
	{"read full at", false, readAt(1), wholeFile(len(hello)).with(cells{endOfFile: value(0)})},
	{"read at the position", false, readAt(2), fileMoves(len(hello)).with(cells{
		endOfFile: value(0),
		// The second has what a short first has left, if there was one.
		reused: moves(len(hello)).then(orValue(moves(0), 0)),
	})},
	{"read fixed", false, readAt(3), fileMoves(len(hello)).with(cells{endOfFile: value(0)})},
	{"readv", false, readAt(4), wholeFile(len(hello)).with(cells{endOfFile: value(0)})},
	{"write at", false, writeAt(0), fileMoves(len(hello))},
	{"write all at", false, writeAt(1), wholeFile(len(hello))},
	{"write at the position", false, writeAt(2), fileMoves(len(hello))},
	{"write all at the position", false, writeAt(3), wholeFile(len(hello))},
	{"write fixed", false, writeAt(4), fileMoves(len(hello))},
	{"writev", false, writeAt(5), wholeFile(len(hello))},
	{"sync", false, fileOp(syncFile), filed(value(0))},
	{"data sync", false, fileOp(dataSync), filed(value(0))},
	{"allocate", false, fileOp(allocate), filed(value(0))},
	{"truncate", false, truncate, filed(value(0))},
	{"stat of a file", false, statFile, filed(value(len(hello)))},
	{"stat", false, statPath, filed(value(len(hello)))},
	{"rename", false, pathOp("one", rename), pathed(unix.ENOENT)},
	{"link", false, pathOp("one", link), pathed(unix.EEXIST)},
	{"symlink", false, pathOp("one", symlink), pathed(unix.EEXIST)},
	{"unlink", false, pathOp("one", unlink), pathed(unix.ENOENT)},
	{"mkdir", false, pathOp("one", mkdir), pathed(unix.EEXIST)},
	{"remove dir", false, pathOp("", removeDir), pathed(unix.ENOENT)},
	{"read dir", false, readDir, filed(value(1)).with(cells{
		endOfFile: value(0),
		reused:    value(1).then(value(0)),
	})},
	{"offload", false, offload, filed(value(7)).with(socketless)},
}

// open opens a file for the loop.
func (s *stage) open(path string, flags int) *reactor.File {
	fd, err := s.Open(path, flags|unix.O_CLOEXEC, 0o600)
	s.must(err)
	return s.adoptFile(fd)
}

// adoptFile gives fd to a new file of the loop.
func (s *stage) adoptFile(fd int) *reactor.File {
	f := new(reactor.File)
	f.Init(s.loop, fd)
	s.sockets = append(s.sockets, asSocket(f))
	return f
}

// asSocket returns a file as a socket, which the situations close.
func asSocket(f *reactor.File) *reactor.Socket { return (*reactor.Socket)(f) }

// create makes a file with bytes in it.
func (s *stage) create(path, text string) {
	fd, err := s.Open(path, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	s.must(err)
	_, err = s.Write(fd, []byte(text))
	s.must(err)
	s.must(s.Close(fd))
}

// contents returns the bytes of a file.
func (s *stage) contents(path string) []byte {
	fd, err := s.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	s.must(err)
	buf := make([]byte, 100)
	n, err := s.Read(fd, buf)
	s.must(err)
	s.must(s.Close(fd))
	return buf[:n]
}

// fixedBuffer returns a registered buffer of the loop.
func (s *stage) fixedBuffer() (b reactor.FixedBuffer) {
	s.do(func() {
		buffers, err := s.loop.NewFixedBuffers(1, 64)
		if err == nil {
			b = buffers.Buffer(0)
		} else {
			s.t.Error(err)
		}
	})
	return b
}

// openFile opens a file relative to a directory. The subject is the directory.
func openFile(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	base := s.temp(s.t) + "/"
	s.create(base+"one", hello)
	dir := s.open(base, unix.O_RDONLY)
	x.socket = asSocket(dir)
	op := new(reactor.OpenOp)
	x.start = func() {
		f := new(reactor.File)
		take := func(got *reactor.File) int {
			if got != f || f.Fd() < 0 {
				s.t.Error("the value is another file")
			}
			s.sockets = append(s.sockets, asSocket(f))
			return 1
		}
		dir.Dir().OpenFile(f, "one", os.O_RDONLY, 0).Connect(op, &receiver[*reactor.File]{x.trace, take})
		op.Start()
	}
	return x
}

// readAt reads from a file in one of the ways that there are.
func readAt(how int) func(*stage, bool) *subject {
	return func(s *stage, _ bool) *subject {
		x := &subject{trace: newTrace(s)}
		path := s.temp(s.t) + "/file"
		s.create(path, hello)
		f := s.open(path, unix.O_RDONLY)
		x.socket = asSocket(f)
		x.end = func() {
			fd, err := s.Open(path, unix.O_WRONLY|unix.O_TRUNC|unix.O_CLOEXEC, 0)
			s.must(err)
			s.must(s.Close(fd))
		}
		buf := make([]byte, 64)
		at := 0 // the position
		r := &receiver[int]{x.trace, func(n int) int {
			if string(buf[:n]) != hello[at:at+n] {
				s.t.Errorf("read %q at %d", buf[:n], at)
			}
			if how == 2 {
				at += n
			}
			return n
		}}
		op := new(reactor.ReadOp)
		x.start = op.Start
		switch how {
		case 0:
			f.ReadAt(buf, 0).Connect(op, r)
		case 1:
			f.ReadFullAt(buf[:len(hello)], 0).Connect(op, r)
		case 2:
			f.Read(buf).Connect(op, r)
		case 3:
			fixed := s.fixedBuffer()
			buf = fixed.Bytes()
			f.ReadFixedAt(fixed, 0).Connect(op, r)
		default:
			v := new(reactor.ReadvOp)
			f.ReadvAt([][]byte{buf[:2], nil, buf[2:3], buf[3:len(hello)]}, 0).Connect(v, r)
			x.start = v.Start
		}
		return x
	}
}

// writeAt writes to a file in one of the ways that there are.
func writeAt(how int) func(*stage, bool) *subject {
	return func(s *stage, _ bool) *subject {
		x := &subject{trace: newTrace(s)}
		path := s.temp(s.t) + "/file"
		f := s.open(path, unix.O_RDWR|unix.O_CREAT)
		x.socket = asSocket(f)
		x.intact = func() {
			var want []byte
			for _, o := range x.results {
				if o.Channel == sendertest.OnValue && (how == 2 || how == 3) {
					want = append(want, hello[:o.Value]...)
				} else if o.Channel == sendertest.OnValue && o.Value > len(want) {
					want = []byte(hello[:o.Value])
				}
			}
			if got := s.contents(path); !bytes.Equal(got, want) {
				s.t.Errorf("the file is %q, want %q", got, want)
			}
		}
		r := receiveCount(x.trace)
		op, data := new(reactor.WriteOp), []byte(hello)
		x.start = op.Start
		switch how {
		case 0:
			f.WriteAt(data, 0).Connect(op, r)
		case 1:
			f.WriteAllAt(data, 0).Connect(op, r)
		case 2:
			f.Write(data).Connect(op, r)
		case 3:
			f.WriteAll(data).Connect(op, r)
		case 4:
			fixed := s.fixedBuffer().Slice(0, len(hello))
			copy(fixed.Bytes(), hello)
			f.WriteFixedAt(fixed, 0).Connect(op, r)
		default:
			v := new(reactor.WritevOp)
			f.WritevAt([][]byte{data[:2], nil, data[2:3], data[3:]}, 0).Connect(v, r)
			x.start = v.Start
		}
		return x
	}
}

type noValue = sender.Receiver[struct{}]

func syncFile(f *reactor.File, op *reactor.FileOp, r noValue) { f.Sync().Connect(op, r) }
func dataSync(f *reactor.File, op *reactor.FileOp, r noValue) { f.DataSync().Connect(op, r) }
func allocate(f *reactor.File, op *reactor.FileOp, r noValue) { f.Allocate(0, 0, 100).Connect(op, r) }

// fileOp makes an operation without a value on a file.
func fileOp(connect func(*reactor.File, *reactor.FileOp, noValue)) func(*stage, bool) *subject {
	return func(s *stage, _ bool) *subject {
		x := &subject{trace: newTrace(s)}
		f := s.open(s.temp(s.t)+"/file", unix.O_RDWR|unix.O_CREAT)
		x.socket = asSocket(f)
		op := new(reactor.FileOp)
		connect(f, op, &receiver[struct{}]{trace: x.trace})
		x.start = op.Start
		return x
	}
}

func truncate(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	path := s.temp(s.t) + "/file"
	s.create(path, hello)
	f := s.open(path, unix.O_RDWR)
	x.socket = asSocket(f)
	op := new(reactor.TruncateOp)
	f.Truncate(2).Connect(op, &receiver[struct{}]{trace: x.trace})
	x.start = op.Start
	x.intact = func() {
		if got := s.contents(path); x.last.Channel == sendertest.OnValue && string(got) != hello[:2] {
			s.t.Errorf("the file is %q", got)
		}
	}
	return x
}

func size(st reactor.FileStat) int { return int(st.Size) }

func statFile(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	path := s.temp(s.t) + "/file"
	s.create(path, hello)
	f := s.open(path, unix.O_RDONLY)
	x.socket = asSocket(f)
	op := new(reactor.StatOp)
	f.Stat().Connect(op, &receiver[reactor.FileStat]{x.trace, size})
	x.start = op.Start
	return x
}

func statPath(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	base := s.temp(s.t) + "/"
	s.create(base+"one", hello)
	dir := s.open(base, unix.O_RDONLY)
	x.socket = asSocket(dir)
	op := new(reactor.StatOp)
	dir.Dir().Stat("one").Connect(op, &receiver[reactor.FileStat]{x.trace, size})
	x.start = op.Start
	return x
}

func rename(d reactor.Dir, op *reactor.PathOp, r noValue)    { d.Rename("one", d, "two").Connect(op, r) }
func link(d reactor.Dir, op *reactor.PathOp, r noValue)      { d.Link("one", d, "two").Connect(op, r) }
func symlink(d reactor.Dir, op *reactor.PathOp, r noValue)   { d.Symlink("one", "two").Connect(op, r) }
func unlink(d reactor.Dir, op *reactor.PathOp, r noValue)    { d.Unlink("one").Connect(op, r) }
func mkdir(d reactor.Dir, op *reactor.PathOp, r noValue)     { d.Mkdir("two", 0o700).Connect(op, r) }
func removeDir(d reactor.Dir, op *reactor.PathOp, r noValue) { d.RemoveDir("sub").Connect(op, r) }

// pathOp makes an operation on names in a directory, which has a file called one, unless that is empty, and a directory
// called sub. The subject is the directory.
func pathOp(one string, connect func(reactor.Dir, *reactor.PathOp, noValue)) func(*stage, bool) *subject {
	return func(s *stage, _ bool) *subject {
		x := &subject{trace: newTrace(s)}
		base := s.temp(s.t) + "/"
		if one != "" {
			s.create(base+one, hello)
		}
		s.must(s.Mkdir(base+"sub", 0o700))
		dir := s.open(base, unix.O_RDONLY)
		x.socket = asSocket(dir)
		op := new(reactor.PathOp)
		connect(dir.Dir(), op, &receiver[struct{}]{trace: x.trace})
		x.start = op.Start
		return x
	}
}

// readDir reads a directory with one name in it, or finds the end of the listing.
func readDir(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	base := s.temp(s.t) + "/sub"
	s.must(s.Mkdir(base, 0o700))
	s.create(base+"/one", hello)
	dir := s.open(base, unix.O_RDONLY)
	x.socket = asSocket(dir)
	buf := make([]byte, 4096)
	op := new(reactor.ReadDirOp)
	r := &receiver[reactor.Dirents]{x.trace, func(d reactor.Dirents) (n int) {
		for e := range d.All() {
			if n++; string(e.Name) != "one" {
				s.t.Errorf("there is %q in the directory", e.Name)
			}
		}
		return n
	}}
	dir.ReadDir(buf).Connect(op, r)
	x.start = op.Start
	x.end = func() {
		first := newTrace(s)
		s.do(func() {
			dir.ReadDir(buf).Connect(op, &receiver[reactor.Dirents]{first, reactor.Dirents.Len})
			first.begin(op.Start)
		})
		first.await()
		s.do(func() { dir.ReadDir(buf).Connect(op, r) })
	}
	return x
}

func offload(s *stage, _ bool) *subject {
	x := &subject{trace: newTrace(s)}
	op := new(reactor.OffloadOp[int])
	reactor.Offload(s.loop, func() (int, error) {
		if s.thread() == s.tid {
			s.t.Error("the func runs on the loop's thread")
		}
		return 7, nil
	}).Connect(op, receiveCount(x.trace))
	x.start = op.Start
	return x
}
