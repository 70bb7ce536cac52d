package epoll

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// What Addr and OpFlags of a message to another ring say. See io_uring_prep_msg_ring(3).
const (
	msgData     = 0 // IORING_MSG_DATA
	msgSendFd   = 1 // IORING_MSG_SEND_FD
	msgCQESkip  = 1 // IORING_MSG_RING_CQE_SKIP
	msgFlagPass = 2 // IORING_MSG_RING_FLAGS_PASS
)

// letter is a completion on its way to another ring.
type letter struct {
	cqe  uring.CQE
	next *letter
	home *mailbox // of the sender, who gets the letter back
}

// letters is a stack that anybody puts on and one thread takes from, all at once: so it needs no lock.
type letters struct{ head atomic.Pointer[letter] }

// put reports whether the stack was empty.
func (s *letters) put(l *letter) bool {
	for {
		head := s.head.Load()
		l.next = head
		if s.head.CompareAndSwap(head, l) {
			return head == nil
		}
	}
}

func (s *letters) take() *letter {
	if s.head.Load() == nil {
		return nil
	}
	return s.head.Swap(nil)
}

// mailbox is the part of a ring that other rings see.
type mailbox struct {
	in    letters // for this ring
	back  letters // of this ring, delivered
	spare *letter // of this ring, to be used
}

// blank takes a letter to be written.
func (m *mailbox) blank() *letter {
	if m.spare == nil {
		m.spare = m.back.take()
	}
	l := m.spare
	if l == nil {
		return &letter{home: m}
	}
	m.spare = l.next
	return l
}

// rings are those of the process that are enabled, by their descriptors.
var rings struct {
	sync.RWMutex
	byFd map[int32]*Ring
}

// publish lets other rings find this one.
func (r *Ring) publish() {
	rings.Lock()
	defer rings.Unlock()
	if rings.byFd == nil {
		rings.byFd = map[int32]*Ring{}
	}
	rings.byFd[int32(r.epfd)] = r
}

func (r *Ring) unpublish() {
	rings.Lock()
	defer rings.Unlock()
	if rings.byFd[int32(r.epfd)] == r {
		delete(rings.byFd, int32(r.epfd))
	}
}

// issueMsgRing makes a completion on another ring of this process and kind, or on this one.
func (r *Ring) issueMsgRing(i uint32) {
	e := r.slab.at(i)
	pass := e.OpFlags&msgFlagPass != 0
	switch {
	case e.Flags&uring.SQEBufferSelect != 0:
		r.fail(i, unix.EOPNOTSUPP)
		return
	case e.Ioprio != 0 || e.BufIndex != 0 || e.OpFlags&^(msgCQESkip|msgFlagPass) != 0:
		r.fail(i, unix.EINVAL)
		return
	}
	rings.RLock()
	defer rings.RUnlock()
	to := rings.byFd[e.Fd]
	switch {
	case to == nil:
		errno := unix.EBADFD
		if n := raw(unix.SYS_FCNTL, uintptr(e.Fd), unix.F_GETFD, 0, 0, 0, 0); n < 0 {
			errno = unix.Errno(-n)
		}
		r.fail(i, errno)
	case e.Addr == msgSendFd && e.Len == 0 && to != r:
		r.fail(i, unix.EBADF) // there are no registered files
	case e.Addr != msgData || e.Addr3 != 0 || e.OpFlags&msgCQESkip != 0 || !pass && e.FileIndex != 0:
		r.fail(i, unix.EINVAL)
	default:
		cqe := uring.CQE{UserData: e.Off, Res: int32(e.Len)}
		if pass {
			cqe.Flags = uint32(e.FileIndex)
		}
		r.finish(i, 0, 0)
		r.mail(to, cqe)
	}
}

// mail sends a completion. The other ring is woken by the letter that its mailbox was empty before.
func (r *Ring) mail(to *Ring, cqe uring.CQE) {
	if to == r {
		r.cq.push(cqe)
		return
	}
	l := r.mailbox.blank()
	l.cqe = cqe
	if to.mailbox.in.put(l) {
		// It can only fail when nobody listens any more.
		_ = to.Wake()
	}
}

// open posts what other rings have sent, oldest first.
func (r *Ring) openMail() {
	var first *letter
	for l := r.mailbox.in.take(); l != nil; {
		l.next, first, l = first, l, l.next
	}
	for l := first; l != nil; {
		next := l.next
		r.cq.push(l.cqe)
		l.home.back.put(l)
		l = next
	}
}
