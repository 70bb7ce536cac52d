package oracle

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/pawelgaczynski/giouring"

	"github.com/reactord/reactord/uring"
)

// args are the arguments of one encoding. Every encoder takes those that it uses.
type args struct {
	fd, flags, how int
	n, flags32     uint32
	off, target    uint64
	group          uint16
	p              unsafe.Pointer
}

// draw returns random arguments; p points into heap, at any offset.
func draw(r *rand.Rand, heap []byte) args {
	return args{
		fd:      int(int32(r.Uint32())),
		flags:   int(int32(r.Uint32())),
		how:     r.IntN(3),
		n:       r.Uint32(),
		flags32: r.Uint32(),
		off:     r.Uint64(),
		target:  r.Uint64(),
		group:   uint16(r.Uint32()),
		p:       unsafe.Pointer(&heap[r.IntN(len(heap))]),
	}
}

func (a *args) addr() uintptr               { return uintptr(a.p) }
func (a *args) msghdr() *syscall.Msghdr     { return (*syscall.Msghdr)(a.p) }
func (a *args) sockaddr() *syscall.Sockaddr { return (*syscall.Sockaddr)(a.p) }

// A row is one encoder of uring and what giouring makes of the same arguments.
type row struct {
	ours   func(*uring.SQE, *args)
	theirs func(*giouring.SubmissionQueueEntry, *args)
}

type (
	ourSQE   = *uring.SQE
	theirSQE = *giouring.SubmissionQueueEntry
)

var encoders = map[string]row{
	"PrepNop": {
		func(s ourSQE, _ *args) { s.PrepNop() },
		func(e theirSQE, _ *args) { e.PrepareNop() },
	},
	"PrepAccept": {
		func(s ourSQE, a *args) { s.PrepAccept(a.fd, a.flags32) },
		func(e theirSQE, a *args) { e.PrepareAccept(a.fd, 0, 0, a.flags32) },
	},
	"PrepAcceptMultishot": {
		func(s ourSQE, a *args) { s.PrepAcceptMultishot(a.fd, a.flags32) },
		func(e theirSQE, a *args) { e.PrepareMultishotAccept(a.fd, 0, 0, int(a.flags32)) },
	},
	// The parameter of giouring's encoder is a pointer to a Go interface, and it encodes that address. So it is
	// given the raw address as that type.
	"PrepConnect": {
		func(s ourSQE, a *args) { s.PrepConnect(a.fd, a.p, a.n) },
		func(e theirSQE, a *args) { e.PrepareConnect(a.fd, a.sockaddr(), uint64(a.n)) },
	},
	"PrepRecv": {
		func(s ourSQE, a *args) { s.PrepRecv(a.fd, a.p, a.n, a.flags) },
		func(e theirSQE, a *args) { e.PrepareRecv(a.fd, a.addr(), a.n, a.flags) },
	},
	// Buffer selection is set on top of a receive, as liburing's users do.
	"PrepRecvSelect": {
		func(s ourSQE, a *args) { s.PrepRecvSelect(a.fd, a.group, a.n, a.flags) },
		func(e theirSQE, a *args) {
			e.PrepareRecv(a.fd, 0, a.n, a.flags)
			e.Flags |= giouring.SqeBufferSelect
			e.BufIG = a.group
		},
	},
	"PrepRecvMultishot": {
		func(s ourSQE, a *args) { s.PrepRecvMultishot(a.fd, a.group, a.flags) },
		func(e theirSQE, a *args) {
			e.PrepareRecvMultishot(a.fd, 0, 0, a.flags)
			e.Flags |= giouring.SqeBufferSelect
			e.BufIG = a.group
		},
	},
	"PrepRecvmsg": {
		func(s ourSQE, a *args) { s.PrepRecvmsg(a.fd, a.p, a.flags) },
		func(e theirSQE, a *args) { e.PrepareRecvMsg(a.fd, a.msghdr(), uint32(a.flags)) },
	},
	"PrepSend": {
		func(s ourSQE, a *args) { s.PrepSend(a.fd, a.p, a.n, a.flags) },
		func(e theirSQE, a *args) { e.PrepareSend(a.fd, a.addr(), a.n, a.flags) },
	},
	"PrepSendmsg": {
		func(s ourSQE, a *args) { s.PrepSendmsg(a.fd, a.p, a.flags) },
		func(e theirSQE, a *args) { e.PrepareSendMsg(a.fd, a.msghdr(), uint32(a.flags)) },
	},
	"PrepClose": {
		func(s ourSQE, a *args) { s.PrepClose(a.fd) },
		func(e theirSQE, a *args) { e.PrepareClose(a.fd) },
	},
	"PrepPollAdd": {
		func(s ourSQE, a *args) { s.PrepPollAdd(a.fd, a.flags32) },
		func(e theirSQE, a *args) { e.PreparePollAdd(a.fd, a.flags32) },
	},
	"PrepPollMultishot": {
		func(s ourSQE, a *args) { s.PrepPollMultishot(a.fd, a.flags32) },
		func(e theirSQE, a *args) { e.PreparePollMultishot(a.fd, a.flags32) },
	},
	"PrepCancel": {
		func(s ourSQE, a *args) { s.PrepCancel(a.target) },
		func(e theirSQE, a *args) { e.PrepareCancel64(a.target, 0) },
	},
	"PrepRead": {
		func(s ourSQE, a *args) { s.PrepRead(a.fd, a.p, a.n, a.off) },
		func(e theirSQE, a *args) { e.PrepareRead(a.fd, a.addr(), a.n, a.off) },
	},
	"PrepWrite": {
		func(s ourSQE, a *args) { s.PrepWrite(a.fd, a.p, a.n, a.off) },
		func(e theirSQE, a *args) { e.PrepareWrite(a.fd, a.addr(), a.n, a.off) },
	},
	"PrepFsync": {
		func(s ourSQE, a *args) { s.PrepFsync(a.fd, a.flags32) },
		func(e theirSQE, a *args) { e.PrepareFsync(a.fd, a.flags32) },
	},
	"PrepRecvmsgMultishot": {
		func(s ourSQE, a *args) { s.PrepRecvmsgMultishot(a.fd, a.group, a.p, a.flags) },
		func(e theirSQE, a *args) {
			e.PrepareRecvMsgMultishot(a.fd, a.msghdr(), uint32(a.flags))
			e.Flags |= giouring.SqeBufferSelect
			e.BufIG = a.group
		},
	},
	// giouring's encoder has no flags for zero copy.
	"PrepSendmsgZC": {
		func(s ourSQE, a *args) { s.PrepSendmsgZC(a.fd, a.p, a.flags, 0) },
		func(e theirSQE, a *args) { e.PrepareSendmsgZC(a.fd, a.msghdr(), uint32(a.flags)) },
	},
	"PrepReadv": {
		func(s ourSQE, a *args) { s.PrepReadv(a.fd, a.p, a.n, a.off) },
		func(e theirSQE, a *args) { e.PrepareReadv(a.fd, a.addr(), a.n, a.off) },
	},
	"PrepWritev": {
		func(s ourSQE, a *args) { s.PrepWritev(a.fd, a.p, a.n, a.off) },
		func(e theirSQE, a *args) { e.PrepareWritev(a.fd, a.addr(), a.n, a.off) },
	},
	"PrepReadFixed": {
		func(s ourSQE, a *args) { s.PrepReadFixed(a.fd, a.p, a.n, a.off, a.group) },
		func(e theirSQE, a *args) { e.PrepareReadFixed(a.fd, a.addr(), a.n, a.off, int(a.group)) },
	},
	"PrepWriteFixed": {
		func(s ourSQE, a *args) { s.PrepWriteFixed(a.fd, a.p, a.n, a.off, a.group) },
		func(e theirSQE, a *args) { e.PrepareWriteFixed(a.fd, a.addr(), a.n, a.off, int(a.group)) },
	},
	"PrepFallocate": {
		func(s ourSQE, a *args) { s.PrepFallocate(a.fd, a.flags32, a.off, a.target) },
		func(e theirSQE, a *args) { e.PrepareFallocate(a.fd, int(a.flags32), a.off, a.target) },
	},
	"PrepSplice": {
		func(s ourSQE, a *args) { s.PrepSplice(a.fd, a.off, a.flags, a.target, a.n, a.flags32) },
		func(e theirSQE, a *args) {
			e.PrepareSplice(a.fd, int64(a.off), a.flags, int64(a.target), a.n, a.flags32)
		},
	},
	"PrepTee": {
		func(s ourSQE, a *args) { s.PrepTee(a.fd, a.flags, a.n, a.flags32) },
		func(e theirSQE, a *args) { e.PrepareTee(a.fd, a.flags, a.n, a.flags32) },
	},
	"PrepUnlinkat": {
		func(s ourSQE, a *args) { s.PrepUnlinkat(a.fd, a.p, a.flags32) },
		func(e theirSQE, a *args) { e.PrepareUnlinkat(a.fd, a.addr(), int(a.flags32)) },
	},
}

// noOracle names the encoders that giouring cannot judge, and why.
var noOracle = map[string]string{
	"PrepFtruncate":     younger,
	"PrepReadMultishot": younger,
	"PrepWaitid":        younger,
	"PrepSendZC":        sliceHeader,
	"PrepOpenat":        sliceHeader,
	"PrepStatx":         sliceHeader,
	"PrepRenameat":      sliceHeader,
	"PrepMkdirat":       sliceHeader,
	"PrepSymlinkat":     sliceHeader,
	"PrepLinkat":        sliceHeader,
}

const (
	younger     = "it is younger than liburing 2.5"
	sliceHeader = "giouring encodes the address of a slice header"
)

func TestEncodersAgree(t *testing.T) {
	const rounds = 10_000
	heap := make([]byte, 4096)
	for name, row := range encoders {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			for range rounds {
				a := draw(r, heap)
				var ours uring.SQE
				fill(bytesOf(&ours), r)
				row.ours(&ours, &a)
				var theirs giouring.SubmissionQueueEntry
				row.theirs(&theirs, &a)
				if got, want := bytesOf(&ours), bytesOf(&theirs); !bytes.Equal(got, want) {
					t.Fatalf("with %+v\nuring    % x\ngiouring % x", a, got, want)
				}
			}
		})
	}
}

func TestEveryEncoderHasARow(t *testing.T) {
	for m := range reflect.TypeFor[*uring.SQE]().Methods() {
		if !strings.HasPrefix(m.Name, "Prep") {
			continue
		}
		_, compared := encoders[m.Name]
		_, excused := noOracle[m.Name]
		if compared == excused {
			t.Errorf("%s: compared %t, excused %t; want one of the two", m.Name, compared, excused)
		}
	}
}

// bytesOf is the memory of an entry, as the kernel reads it.
func bytesOf[T any](entry *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(entry)), unsafe.Sizeof(*entry))
}

func fill(p []byte, r *rand.Rand) {
	for i := range p {
		p[i] = byte(r.Uint32())
	}
}
