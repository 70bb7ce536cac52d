//go:build linux

package reactor_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

func init() { maps.Copy(steady, steadyFiles) }

// steadyFiles are those on files, pipes and events.
var steadyFiles = map[string]func(r *running, next func()) (step func(), sockets []*reactor.Socket, fds []int){
	"read and write at": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		f := block(r)
		read, write, buf := new(reactor.ReadOp), new(reactor.WriteOp), make([]byte, 4096)
		f.WriteAllAt(buf, 0).Connect(write, &again[int]{func(int) { read.Start() }, sender.EmptyEnv{}})
		f.ReadFullAt(buf, 0).Connect(read, &again[int]{func(int) { next() }, sender.EmptyEnv{}})
		return write.Start, []*reactor.Socket{(*reactor.Socket)(f)}, nil
	},
	"read and write anew": func(r *running, next func()) (func(), []*reactor.Socket, []int) { // connected each time
		f := block(r)
		read, write, buf := new(reactor.ReadOp), new(reactor.WriteOp), make([]byte, 4096)
		over := &again[int]{func(int) { next() }, sender.EmptyEnv{}}
		wrote := &again[int]{func(int) { f.ReadAt(buf, 0).Connect(read, over); read.Start() }, sender.EmptyEnv{}}
		return func() { f.WriteAt(buf, 0).Connect(write, wrote); write.Start() }, []*reactor.Socket{(*reactor.Socket)(f)}, nil
	},
	"read and write fixed": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		f := block(r)
		var b *reactor.FixedBuffers
		var err error
		r.do(func() { b, err = r.NewFixedBuffers(2, 4096) })
		if err != nil {
			r.t.Fatal(err)
		}
		read, write := new(reactor.ReadOp), new(reactor.WriteOp)
		f.WriteFixedAt(b.Buffer(0), 0).Connect(write, &again[int]{func(int) { read.Start() }, sender.EmptyEnv{}})
		f.ReadFixedAt(b.Buffer(1), 0).Connect(read, &again[int]{func(int) { next() }, sender.EmptyEnv{}})
		return write.Start, []*reactor.Socket{(*reactor.Socket)(f)}, nil
	},
	"readv and writev": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		f := block(r)
		read, write, bufs := new(reactor.ReadvOp), new(reactor.WritevOp), [][]byte{make([]byte, 100), make([]byte, 200)}
		f.WritevAt(bufs, 0).Connect(write, &again[int]{func(int) { read.Start() }, sender.EmptyEnv{}})
		f.ReadvAt(bufs, 0).Connect(read, &again[int]{func(int) { next() }, sender.EmptyEnv{}})
		return write.Start, []*reactor.Socket{(*reactor.Socket)(f)}, nil
	},
	"pipe": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		p := r.pipe()
		read, write, buf := new(reactor.ReadOp), new(reactor.WriteOp), make([]byte, 100)
		p.Writer.WriteAll(buf).Connect(write, &again[int]{func(int) {}, sender.EmptyEnv{}})
		p.Reader.Read(buf).Connect(read, &again[int]{func(int) { next() }, sender.EmptyEnv{}})
		return func() { read.Start(); write.Start() }, ends(p), nil
	},
	"read many": func(r *running, next func()) (func(), []*reactor.Socket, []int) { return streamed(r, next, 4) },
	"read many, unlimited": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		return streamed(r, next, reactor.Unlimited)
	},
	"splice": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		a, b := r.pipe(), r.pipe()
		read, write, splice, buf := new(reactor.ReadOp), new(reactor.WriteOp), new(reactor.SpliceOp), make([]byte, 100)
		a.Writer.WriteAll(buf).Connect(write, &again[int]{func(int) {}, sender.EmptyEnv{}})
		pending := 0
		over := &again[int]{func(int) {
			if pending--; pending == 0 {
				next()
			}
		}, sender.EmptyEnv{}}
		reactor.Splice(a.Reader.Stream(), b.Writer.Stream(), 100).Connect(splice, over)
		b.Reader.Read(buf).Connect(read, over)
		return func() { pending = 2; splice.Start(); write.Start(); read.Start() }, append(ends(a), ends(b)...), nil
	},
	"stat": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		f, op := block(r), new(reactor.StatOp)
		f.Stat().Connect(op, &again[reactor.FileStat]{func(reactor.FileStat) { next() }, sender.EmptyEnv{}})
		return op.Start, []*reactor.Socket{(*reactor.Socket)(f)}, nil
	},
	"event": func(r *running, next func()) (func(), []*reactor.Socket, []int) {
		e, op := r.event(), new(reactor.EventWaitOp)
		r.t.(*testing.T).Cleanup(func() { unix.Close(e.Fd()) })
		e.Wait().Connect(op, &again[uint64]{func(uint64) { next() }, sender.EmptyEnv{}})
		return func() { op.Start(); _ = e.Signal(1) }, nil, nil
	},
}

// streamed writes to a pipe that is read from all the while.
func streamed(r *running, next func(), credit int) (func(), []*reactor.Socket, []int) {
	p := r.pipe()
	read, write, buf := new(reactor.ReadManyOp), new(reactor.WriteOp), make([]byte, 100)
	p.Writer.WriteAll(buf).Connect(write, &again[int]{func(int) {}, sender.EmptyEnv{}})
	p.Reader.ReadMany(credit).Connect(read, &seqAgain[reactor.Lease]{again[reactor.Lease]{func(l reactor.Lease) {
		read.Grant(1)
		l.Release()
		next()
	}, sender.EmptyEnv{}}})
	started := false
	return func() {
		if !started {
			started = true
			read.Start()
		}
		write.Start()
	}, ends(p), nil
}

func ends(p *reactor.Pipe) []*reactor.Socket {
	return []*reactor.Socket{(*reactor.Socket)(&p.Reader), (*reactor.Socket)(&p.Writer)}
}

// block is a file of one block.
func block(r *running) *reactor.File {
	path := filepath.Join(r.t.(*testing.T).TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 4096), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return r.open(path, os.O_RDWR)
}
