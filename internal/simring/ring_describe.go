package simring

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// Describe returns an entry as text, for a trace. Addresses are left out: they differ from run to run.
func Describe(s *uring.SQE) string {
	b := new(strings.Builder)
	fmt.Fprintf(b, "%#x: %s", s.UserData, s.Opcode)
	switch s.Opcode {
	case uring.OpNop:
		return b.String()
	case uring.OpAsyncCancel:
		fmt.Fprintf(b, " of %#x", s.Addr)
		return b.String()
	case uring.OpPollAdd:
		fmt.Fprintf(b, " fd %d for %s%s", s.Fd, pollNames(s.OpFlags), flagNames(uint64(s.Len), "multishot", "", "", "level"))
		return b.String()
	case uring.OpOpenat, uring.OpStatx, uring.OpMkdirat, uring.OpUnlinkat:
		fmt.Fprintf(b, " %q", pathAt(s.Addr))
		return b.String()
	case uring.OpRenameat, uring.OpLinkat, uring.OpSymlinkat:
		fmt.Fprintf(b, " %q, %q", pathAt(s.Addr), pathAt(s.Off))
		return b.String()
	case uring.OpSplice, uring.OpTee:
		fmt.Fprintf(b, " fd %d to %d, %d bytes", s.FileIndex, s.Fd, s.Len)
		return b.String()
	}
	fmt.Fprintf(b, " fd %d", s.Fd)
	switch s.Opcode {
	case uring.OpRead, uring.OpWrite, uring.OpReadFixed, uring.OpWriteFixed, uring.OpReadv, uring.OpWritev:
		fmt.Fprintf(b, ", %d at %d", s.Len, int64(s.Off))
	case uring.OpRecv, uring.OpSend, uring.OpSendZC:
		if s.Len != 0 {
			fmt.Fprintf(b, ", %d bytes", s.Len)
		}
	case uring.OpFsync, uring.OpClose, uring.OpConnect:
		return b.String()
	case uring.OpFallocate, uring.OpFtruncate:
		fmt.Fprintf(b, ", %d at %d", s.Addr, s.Off)
		return b.String()
	}
	switch s.Opcode {
	case uring.OpAccept:
		b.WriteString(flagNames(uint64(s.Ioprio), "multishot"))
	case uring.OpRecv, uring.OpRecvmsg, uring.OpSend, uring.OpSendmsg, uring.OpSendZC, uring.OpSendmsgZC:
		b.WriteString(flagNames(uint64(s.Ioprio), "poll first", "multishot", "", "report usage"))
		if s.Opcode == uring.OpRecv && s.Ioprio&uring.RecvMultishot != 0 && s.FileIndex != 0 {
			fmt.Fprintf(b, ", limit %d", s.FileIndex)
		}
		b.WriteString(messageFlags(s.OpFlags))
	}
	b.WriteString(flagNames(uint64(s.Flags), "", "", "", "", "", "a provided buffer"))
	return b.String()
}

// flagNames returns the names of the bits that are set.
func flagNames(bits uint64, names ...string) string {
	b := new(strings.Builder)
	for i, name := range names {
		if bits&(1<<i) != 0 && name != "" {
			b.WriteString(", " + name)
		}
	}
	return b.String()
}

func messageFlags(flags uint32) string {
	b := new(strings.Builder)
	for _, f := range messageFlagNames {
		if flags&f.bit != 0 {
			b.WriteString(", " + f.name)
		}
	}
	return b.String()
}

type namedBit struct {
	bit  uint32
	name string
}

var (
	messageFlagNames = []namedBit{
		{unix.MSG_DONTWAIT, "MSG_DONTWAIT"}, {unix.MSG_WAITALL, "MSG_WAITALL"}, {unix.MSG_PEEK, "MSG_PEEK"},
		{unix.MSG_TRUNC, "MSG_TRUNC"}, {unix.MSG_MORE, "MSG_MORE"},
	}
	pollEventNames = []namedBit{
		{unix.POLLIN, "POLLIN"}, {unix.POLLOUT, "POLLOUT"}, {unix.POLLERR, "POLLERR"}, {unix.POLLHUP, "POLLHUP"},
		{unix.POLLRDHUP, "POLLRDHUP"},
	}
)

func pollNames(events uint32) string {
	var names []string
	for _, e := range pollEventNames {
		if events&e.bit != 0 {
			names = append(names, e.name)
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("%#x", events)
	}
	return strings.Join(names, "|")
}

// DescribeResult returns a completion as text, for a trace. op is the opcode of its entry.
func DescribeResult(op uring.Op, cqe *uring.CQE) string {
	b := new(strings.Builder)
	fmt.Fprintf(b, "%#x: %s", cqe.UserData, op)
	switch {
	case cqe.Flags&uring.CQENotif != 0:
	case cqe.Res < 0:
		b.WriteString(" " + unix.ErrnoName(unix.Errno(-cqe.Res)))
	case op == uring.OpPollAdd:
		b.WriteString(" " + pollNames(uint32(cqe.Res)))
	default:
		fmt.Fprintf(b, " %d", cqe.Res)
	}
	if id, ok := cqe.BufferID(); ok {
		fmt.Fprintf(b, " in buffer %d", id)
	}
	b.WriteString(flagNames(uint64(cqe.Flags), "", "more", "not empty", "notification"))
	return b.String()
}
