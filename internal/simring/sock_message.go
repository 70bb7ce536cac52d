package simring

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// message is the message of one sendmsg(2) or recvmsg(2). A plain send or receive is a message without a name and
// without control data.
type message struct {
	pieces [][]byte
	flags  int // MSG_* of the call

	name    address // to whom, or from whom; the zero address: the peer
	named   bool    // a send says to whom
	files   []*file // SCM_RIGHTS
	rights  int     // how many descriptors a receive has room for
	segment int     // UDP_SEGMENT: the size of each datagram that a send makes; 0: it makes one
	outcome int     // MSG_TRUNC, MSG_CTRUNC, MSG_EOR: what a receive says
}

// plain returns a message of one piece of memory.
func plain(p []byte, flags int) *message { return &message{pieces: [][]byte{p}, flags: flags} }

// size returns how many bytes the message has, or has room for.
func (m *message) size() (n int) {
	for _, p := range m.pieces {
		n += len(p)
	}
	return n
}

// bytes returns the message's bytes in one piece, without the first skip.
func (m *message) bytes(skip int) (b []byte) {
	if len(m.pieces) == 1 {
		return m.pieces[0][skip:]
	}
	for _, p := range m.pieces {
		b = append(b, p...)
	}
	return b[skip:]
}

// appendPart appends n of the message's bytes, behind the first skip, to b.
func (m *message) appendPart(b []byte, skip, n int) []byte {
	for _, p := range m.pieces {
		if skip >= len(p) {
			skip -= len(p)
			continue
		}
		p = p[skip:min(len(p), skip+n)]
		if b, skip, n = append(b, p...), 0, n-len(p); n == 0 {
			break
		}
	}
	return b
}

// scatter copies b to the message's room behind the first skip bytes, and returns how many there was
// room for.
func (m *message) scatter(b []byte, skip int) (n int) {
	for _, p := range m.pieces {
		if skip >= len(p) {
			skip -= len(p)
			continue
		}
		c := copy(p[skip:], b[n:])
		n, skip = n+c, 0
		if n == len(b) {
			break
		}
	}
	return n
}

// header returns the struct msghdr at an address.
func header(addr uint64) *unix.Msghdr { return *(**unix.Msghdr)(unsafe.Pointer(&addr)) }

// vectors returns the pieces of memory that n struct iovec describe.
func vectors(iov *unix.Iovec, n int) (pieces [][]byte) {
	for _, v := range unsafe.Slice(iov, n) {
		pieces = append(pieces, unsafe.Slice(v.Base, v.Len))
	}
	return pieces
}

// outgoing reads the message that a struct msghdr describes.
func (k *Kernel) outgoing(h *unix.Msghdr, flags int) (*message, unix.Errno) {
	m := &message{pieces: vectors(h.Iov, int(h.Iovlen)), flags: flags}
	if h.Name != nil && h.Namelen != 0 {
		var errno unix.Errno
		if m.name, errno = decode(unsafe.Slice(h.Name, h.Namelen)); errno != 0 {
			return nil, errno
		}
		m.named = true
	}
	if h.Control == nil || h.Controllen == 0 {
		return m, 0
	}
	control := unsafe.Slice(h.Control, h.Controllen)
	m.segment = segmentSize(control)
	files, errno := k.rights(control)
	m.files = files
	return m, errno
}

// segmentSize returns the UDP_SEGMENT of control data, or 0.
func segmentSize(control []byte) int {
	messages, _ := unix.ParseSocketControlMessage(control)
	for i := range messages {
		if h := &messages[i].Header; h.Level == unix.IPPROTO_UDP && h.Type == unix.UDP_SEGMENT && len(messages[i].Data) >= 2 {
			return int(binary.NativeEndian.Uint16(messages[i].Data))
		}
	}
	return 0
}

// rights finds the files that control data carries.
func (k *Kernel) rights(control []byte) (files []*file, errno unix.Errno) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, unix.EINVAL
	}
	for i := range messages {
		if messages[i].Header.Level != unix.SOL_SOCKET || messages[i].Header.Type != unix.SCM_RIGHTS {
			continue // credentials, time stamps: nothing here has them
		}
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil || len(fds) > 253 {
			return nil, unix.EINVAL
		}
		for _, fd := range fds {
			f := k.file(fd)
			if f == nil {
				return nil, unix.EBADF
			}
			files = append(files, f)
		}
	}
	return files, 0
}

// incoming returns the room that a struct msghdr describes.
func incoming(h *unix.Msghdr, flags int) *message {
	return &message{pieces: vectors(h.Iov, int(h.Iovlen)), flags: flags, rights: roomForRights(int(h.Controllen))}
}

// roomForRights returns how many descriptors fit into n bytes of control data.
func roomForRights(n int) int { return max(n-unix.CmsgLen(0), 0) / 4 }

// control installs the files that a message carries, and encodes their descriptors as control data. Files for which
// there is no descriptor or no room are dropped, and MSG_CTRUNC is set.
func (k *Kernel) control(m *message) []byte {
	if len(m.files) != 0 && k.flawed(LosePassedDescriptors) {
		k.unref(m.files...)
		m.files = nil
	}
	if len(m.files) == 0 {
		return nil
	}
	b := make([]byte, unix.CmsgLen(0), unix.CmsgSpace(4*len(m.files)))
	for i, f := range m.files {
		if i >= m.rights || k.open(f) != 0 {
			m.outcome |= unix.MSG_CTRUNC
			k.unref(m.files[i:]...)
			break
		}
		f.refs-- // the message's is the descriptor's now
		b = binary.NativeEndian.AppendUint32(b, uint32(f.fd))
	}
	m.files = nil
	if len(b) == unix.CmsgLen(0) {
		return nil
	}
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = unix.SOL_SOCKET, unix.SCM_RIGHTS
	h.SetLen(len(b))
	return b
}

// tell writes to the struct msghdr what was received.
func (k *Kernel) tell(h *unix.Msghdr, m *message, family int) {
	if h.Name != nil {
		h.Namelen = uint32(copyName(unsafe.Slice(h.Name, h.Namelen), m.name, family))
	}
	b := k.control(m)
	if h.Control != nil {
		h.SetControllen(copy(unsafe.Slice(h.Control, h.Controllen), b))
	}
	h.Flags = int32(m.outcome)
}

// copyName copies a sender's address, as far as there is room, and returns its length; 0 without an address.
func copyName(room []byte, a address, family int) int {
	if a.isZero() {
		return 0
	}
	b := a.encode(family)
	copy(room, b)
	return len(b)
}

// outHeader is the size of a struct io_uring_recvmsg_out.
const outHeader = 16

// out divides a provided buffer as a multishot receive of messages does (see uring.RecvmsgOut): header,
// name, control data, payload. Nil: it is too small.
func out(buffer []byte, h *unix.Msghdr) (name, control, payload []byte) {
	n, c := int(h.Namelen), int(h.Controllen)
	if len(buffer) < outHeader+n+c {
		return nil, nil, nil
	}
	b := buffer[outHeader:]
	return b[:n:n], b[n : n+c : n+c], b[n+c:]
}

// tellOut writes header, name and control data to such a buffer after n bytes were received to its payload, and returns
// how much of the buffer is used.
func (k *Kernel) tellOut(buffer []byte, h *unix.Msghdr, m *message, n, family int) int {
	name, control, payload := out(buffer, h)
	named := copyName(name, m.name, family)
	controlled := copy(control, k.control(m))
	for i, v := range []int{named, controlled, n, m.outcome} {
		binary.NativeEndian.PutUint32(buffer[4*i:], uint32(v))
	}
	return outHeader + len(name) + len(control) + min(n, len(payload))
}
