package oracle

import (
	"testing"
	"unsafe"

	"github.com/pawelgaczynski/giouring"

	"github.com/reactord/reactord/uring"
)

func TestOpcodesAgree(t *testing.T) {
	for ours, theirs := range map[uring.Op]uint8{
		uring.OpNop:         giouring.OpNop,
		uring.OpReadv:       giouring.OpReadv,
		uring.OpWritev:      giouring.OpWritev,
		uring.OpFsync:       giouring.OpFsync,
		uring.OpReadFixed:   giouring.OpReadFixed,
		uring.OpWriteFixed:  giouring.OpWriteFixed,
		uring.OpPollAdd:     giouring.OpPollAdd,
		uring.OpSendmsg:     giouring.OpSendmsg,
		uring.OpRecvmsg:     giouring.OpRecvmsg,
		uring.OpAccept:      giouring.OpAccept,
		uring.OpAsyncCancel: giouring.OpAsyncCancel,
		uring.OpConnect:     giouring.OpConnect,
		uring.OpFallocate:   giouring.OpFallocate,
		uring.OpOpenat:      giouring.OpOpenat,
		uring.OpClose:       giouring.OpClose,
		uring.OpStatx:       giouring.OpStatx,
		uring.OpRead:        giouring.OpRead,
		uring.OpWrite:       giouring.OpWrite,
		uring.OpSend:        giouring.OpSend,
		uring.OpRecv:        giouring.OpRecv,
		uring.OpSplice:      giouring.OpSplice,
		uring.OpTee:         giouring.OpTee,
		uring.OpRenameat:    giouring.OpRenameat,
		uring.OpUnlinkat:    giouring.OpUnlinkat,
		uring.OpMkdirat:     giouring.OpMkdirat,
		uring.OpSymlinkat:   giouring.OpSymlinkat,
		uring.OpLinkat:      giouring.OpLinkat,
		uring.OpSendZC:      giouring.OpSendZC,
		uring.OpSendmsgZC:   giouring.OpSendMsgZC,
	} {
		if uint8(ours) != theirs {
			t.Errorf("opcode %d is %d to giouring", ours, theirs)
		}
	}
}

func TestFlagsAgree(t *testing.T) {
	for name, f := range map[string]struct{ ours, theirs uint32 }{
		"SQEBufferSelect":   {uint32(uring.SQEBufferSelect), uint32(giouring.SqeBufferSelect)},
		"CQEBuffer":         {uring.CQEBuffer, giouring.CQEFBuffer},
		"CQEMore":           {uring.CQEMore, giouring.CQEFMore},
		"CQESockNonempty":   {uring.CQESockNonempty, giouring.CQEFSockNonempty},
		"CQENotif":          {uring.CQENotif, giouring.CQEFNotif},
		"CQEBufferShift":    {uring.CQEBufferShift, giouring.CQEBufferShift},
		"AcceptMultishot":   {uint32(uring.AcceptMultishot), uint32(giouring.AcceptMultishot)},
		"RecvsendPollFirst": {uint32(uring.RecvsendPollFirst), uint32(giouring.RecvsendPollFirst)},
		"RecvMultishot":     {uint32(uring.RecvMultishot), uint32(giouring.RecvMultishot)},
		"SendZCReportUsage": {uint32(uring.SendZCReportUsage), uint32(giouring.SendZCReportUsage)},
		"PollAddMulti":      {uring.PollAddMulti, giouring.PollAddMulti},
	} {
		if f.ours != f.theirs {
			t.Errorf("%s is %#x, to giouring %#x", name, f.ours, f.theirs)
		}
	}
}

func TestLayoutsAgree(t *testing.T) {
	var (
		sqe  uring.SQE
		gsqe giouring.SubmissionQueueEntry
		cqe  uring.CQE
		gcqe giouring.CompletionQueueEvent
	)
	for name, l := range map[string]struct{ ours, theirs uintptr }{
		"sizeof SQE":      {unsafe.Sizeof(sqe), unsafe.Sizeof(gsqe)},
		"SQE.UserData":    {unsafe.Offsetof(sqe.UserData), unsafe.Offsetof(gsqe.UserData)},
		"SQE.Personality": {unsafe.Offsetof(sqe.Personality), unsafe.Offsetof(gsqe.Personality)},
		"SQE.FileIndex":   {unsafe.Offsetof(sqe.FileIndex), unsafe.Offsetof(gsqe.SpliceFdIn)},
		"SQE.Addr3":       {unsafe.Offsetof(sqe.Addr3), unsafe.Offsetof(gsqe.Addr3)},
		"sizeof CQE":      {unsafe.Sizeof(cqe), unsafe.Sizeof(gcqe)},
		"CQE.UserData":    {unsafe.Offsetof(cqe.UserData), unsafe.Offsetof(gcqe.UserData)},
		"CQE.Res":         {unsafe.Offsetof(cqe.Res), unsafe.Offsetof(gcqe.Res)},
		"CQE.Flags":       {unsafe.Offsetof(cqe.Flags), unsafe.Offsetof(gcqe.Flags)},
	} {
		if l.ours != l.theirs {
			t.Errorf("%s is %d, to giouring %d", name, l.ours, l.theirs)
		}
	}
}
