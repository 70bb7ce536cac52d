package simring

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// ringOperations are those that are about a ring, or about no open file.
var ringOperations = map[uring.Op]operation{
	uring.OpNop:         {at: func(e *entry) { e.finish(0, 0) }},
	uring.OpClose:       {at: (*entry).close},
	uring.OpAsyncCancel: {at: (*entry).cancel},
	uring.OpPollRemove:  {at: (*entry).pollRemove},
	uring.OpMsgRing:     {at: (*entry).messageRing},
	uring.OpPipe:        {at: (*entry).pipe},
	uring.OpWaitid:      {at: (*entry).waitid, try: (*entry).waitid},
}

func (e *entry) close() {
	e.ring.k.log("close %d", e.Fd)
	e.fail(e.ring.k.close(int(e.Fd)))
}

func (e *entry) pipe() {
	fds, errno := e.ring.k.pipe2(int(e.OpFlags))
	if errno == 0 {
		b := memory(e.Addr, 8)
		binary.NativeEndian.PutUint32(b, uint32(fds[0]))
		binary.NativeEndian.PutUint32(b[4:], uint32(fds[1]))
	}
	e.fail(errno)
}

// pollRemove ends a poll, or changes it.
func (e *entry) pollRemove() {
	var poll *entry
	for _, v := range e.ring.entries {
		if v.Opcode == uring.OpPollAdd && v.UserData == e.Addr {
			poll = v
		}
	}
	const update = uring.PollUpdateEvents | uring.PollUpdateUserData
	switch k := e.ring.k; {
	case poll == nil:
		e.fail(unix.ENOENT)
	case poll.late:
		e.fail(unix.EALREADY)
	case k.chance(k.Odds.CancelRace):
		poll.late = true
		k.soon(poll.endLate)
		e.fail(unix.EALREADY)
	case e.Len&update == 0:
		poll.fail(unix.ECANCELED)
		e.finish(0, 0)
	default:
		if e.Len&uring.PollUpdateUserData != 0 {
			poll.UserData = e.Off
		}
		if e.Len&uring.PollUpdateEvents != 0 {
			poll.OpFlags = e.OpFlags
			poll.wake()
		}
		e.finish(0, 0)
	}
}

// messageRing makes a completion on another ring.
func (e *entry) messageRing() {
	f := e.ring.k.file(int(e.Fd))
	if f == nil {
		e.fail(unix.EBADF)
		return
	}
	to, ok := f.object.(*ringFile)
	switch {
	case !ok || to.ring.closed:
		e.fail(unix.EBADFD)
	case e.Addr != 0: // a descriptor is to be sent: rings here have no table of their own
		e.fail(unix.EINVAL)
	default:
		to.ring.receive(uring.CQE{UserData: e.Off, Res: int32(e.Len)})
		e.finish(0, 0)
	}
}

// ringFile is a ring as an open file.
type ringFile struct {
	node
	ring *Ring
}

func (f *ringFile) String() string { return "ring" }
func (f *ringFile) release()       { f.file = nil }

func (f *ringFile) events() uint32 {
	if len(f.ring.cq) != 0 {
		return unix.POLLIN | unix.POLLOUT
	}
	return unix.POLLOUT
}
