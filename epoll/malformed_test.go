//go:build linux

package epoll

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// socketOps are the opcodes of descriptors that can wait, with how each is encoded properly.
func socketOps(g *rig, fd int) map[string]func(*uring.SQE) {
	b := g.bytes(32)
	h, out := header(g, b[:16], b[16:]), header(g, b)
	return map[string]func(*uring.SQE){
		"accept":      func(s *uring.SQE) { s.PrepAccept(fd, unix.SOCK_CLOEXEC) },
		"recv":        func(s *uring.SQE) { s.PrepRecv(fd, ptr(b), 16, 0) },
		"recv select": func(s *uring.SQE) { s.PrepRecvSelect(fd, 0, 16, 0) },
		"recv many":   func(s *uring.SQE) { s.PrepRecvMultishot(fd, 0, 0) },
		"recvmsg":     func(s *uring.SQE) { s.PrepRecvmsg(fd, h, 0) },
		"recvmsg many": func(s *uring.SQE) {
			s.PrepRecvmsgMultishot(fd, 0, out, 0)
		},
		"send":       func(s *uring.SQE) { s.PrepSend(fd, ptr(b), 16, 0) },
		"sendmsg":    func(s *uring.SQE) { s.PrepSendmsg(fd, h, 0) },
		"send zc":    func(s *uring.SQE) { s.PrepSendZC(fd, ptr(b), 16, 0, uring.SendZCReportUsage) },
		"sendmsg zc": func(s *uring.SQE) { s.PrepSendmsgZC(fd, h, 0, uring.SendZCReportUsage) },
		"poll":       func(s *uring.SQE) { s.PrepPollAdd(fd, unix.POLLPRI) },
		"poll many":  func(s *uring.SQE) { s.PrepPollMultishot(fd, unix.POLLPRI) },
	}
}

// defects are what can be wrong with an entry.
var defects = []struct {
	name  string
	apply func(*uring.SQE)
}{
	{"as it should be", func(*uring.SQE) {}},
	{"addr2", func(s *uring.SQE) { s.Off ^= 1 << (8*unsafe.Sizeof(uintptr(0)) - 24) }}, // in what an address has
	{"small addr2", func(s *uring.SQE) { s.Off ^= 1 << 9 }},
	{"len", func(s *uring.SQE) { s.Len ^= 1 << 2 }},
	{"rw_flags", func(s *uring.SQE) { s.OpFlags ^= 1 << 5 }},
	{"low rw_flags", func(s *uring.SQE) { s.OpFlags ^= 1 << 1 }},
	{"DONTWAIT", func(s *uring.SQE) { s.OpFlags |= unix.MSG_DONTWAIT }},
	{"buf_index", func(s *uring.SQE) { s.BufIndex ^= 1 }},
	{"file_index", func(s *uring.SQE) { s.FileIndex ^= 1 }},
	{"high file_index", func(s *uring.SQE) { s.FileIndex ^= 1 << 20 }},
	{"addr3", func(s *uring.SQE) { s.Addr3 ^= 1 }},
	{"personality", func(s *uring.SQE) { s.Personality ^= 1 }},
	{"buffer select", func(s *uring.SQE) { s.Flags ^= uring.SQEBufferSelect }},
	{"unknown flag", func(s *uring.SQE) { s.Flags |= 0x80 }},
}

// TestMalformedEntries compares the completions of entries with a defect, or on a wrong kind of descriptor, with
// those of the kernel's ring.
func TestMalformedEntries(t *testing.T) {
	var on [2]map[string][]string
	for at, r := range []ring{newEpoll(t, Config{}), newKernel(t)} {
		g := newRig(t, r)
		g.provide()
		on[at] = refusals(g)
	}
	for name, got := range on[0] {
		if want := on[1][name]; !slices.Equal(got, want) {
			t.Errorf("%s:\n  epoll %v\n  uring %v", name, got, want)
		}
	}
}

func refusals(g *rig) map[string][]string {
	all := map[string][]string{}
	try := func(name, op string, open func() int, apply func(*uring.SQE)) {
		fd := open()
		ud := g.push(func(s *uring.SQE) { socketOps(g, fd)[op](s); apply(s) })
		for range 3 {
			g.check(g.Enter(0))
		}
		cancel := g.push(func(s *uring.SQE) { s.PrepCancel(ud) })
		all[name] = g.outcome(ud, cancel)
		for _, fd := range g.fds {
			g.close(fd)
		}
		g.fds = nil
	}
	for kind, open := range kinds(g) {
		for op := range socketOps(g, 0) {
			for _, d := range defects {
				if d.name == "buffer select" && op == "send" {
					continue // which only the kernel knows
				}
				try(fmt.Sprintf("%s of %s, %s", op, kind, d.name), op, open, d.apply)
			}
			for bit := range 7 {
				if !alike(kind, op, 1<<bit) {
					continue
				}
				try(fmt.Sprintf("%s of %s, ioprio %#x", op, kind, 1<<bit), op, open,
					func(s *uring.SQE) { s.Ioprio ^= 1 << bit })
			}
		}
	}
	return all
}

// alike reports whether a flag of Ioprio means the same to both rings. Those that no operation submits are not known
// here. And what is not a socket is refused immediately, even if the entry asks to wait first.
func alike(kind, op string, ioprio uint16) bool {
	const unknown = 1 << 6 // to the kernel as well
	switch {
	case ioprio == unknown || strings.HasPrefix(op, "poll"):
		return true
	case op == "accept":
		return ioprio == uring.AcceptMultishot
	case strings.HasPrefix(op, "recv"):
		return ioprio == uring.RecvMultishot || ioprio == uring.RecvsendPollFirst && kind != "a file" &&
			kind != "a pipe"
	case strings.HasSuffix(op, "zc"):
		return ioprio == uring.SendZCReportUsage
	}
	return false
}

// kinds make descriptors of every kind.
func kinds(g *rig) map[string]func() int {
	first := func(a, _ int) int { return a }
	inet := func(family, kind int) func() int {
		return func() int {
			fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
			g.check(err)
			g.open(fd)
			return fd
		}
	}
	return map[string]func() int{
		"nothing":            func() int { return 1 << 18 },
		"a file":             g.file,
		"a pipe":             func() int { return first(g.pipe()) },
		"a unix stream":      func() int { return first(g.pair(unix.SOCK_STREAM)) },
		"a unix datagram":    func() int { return first(g.pair(unix.SOCK_DGRAM)) },
		"a TCP connection":   func() int { return first(g.tcp()) },
		"a UDP socket":       inet(unix.AF_INET, unix.SOCK_DGRAM),
		"a UDP socket of v6": inet(unix.AF_INET6, unix.SOCK_DGRAM),
		"a new TCP socket":   inet(unix.AF_INET, unix.SOCK_STREAM),
	}
}

// outcome waits for the final completions of an entry and of its cancel, and frees what they brought. It describes
// the completions of the entry.
func (g *rig) outcome(ud, cancel uint64) (all []string) {
	g.check(g.Enter(0))
	cancelled, over := false, 0
	for !cancelled || over == 0 {
		c := g.wait()
		if c.UserData == cancel {
			cancelled = true
			if c.Res == -int32(unix.ENOENT) && over == 0 {
				over = 1 // skipped, or on its way
			}
			continue
		}
		if c.UserData != ud {
			g.Fatalf("%+v: there is no such entry", c)
		}
		all = append(all, g.tell(c))
		if !c.More() {
			over = 2
		}
	}
	for range 2 {
		g.check(g.Enter(0))
		for g.Pop(&g.cqe) {
			all = append(all, g.tell(g.cqe))
		}
	}
	return all
}

// tell describes a completion, and provides its buffer again.
func (g *rig) tell(c uring.CQE) string {
	if id, ok := c.BufferID(); ok {
		g.ProvideBuffer(0, id)
	}
	return fmt.Sprintf("%d/%#x", c.Res, c.Flags&0xffff&^uring.CQESockNonempty)
}
