//go:build linux

package reactor

import (
	"iter"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ControlMessage is one of the control messages that come with a message: the address that a datagram was sent to,
// its time of arrival, the credentials of its sender, descriptors. Data is a part of the memory that was given for
// control data. See cmsg(3).
type ControlMessage struct {
	Level int // unix.SOL_SOCKET, IPPROTO_IP, …
	Type  int // unix.SCM_RIGHTS, IP_PKTINFO, …
	Data  []byte
}

// ControlMessages iterates over the messages in control data, without one that was truncated. It allocates nothing.
func ControlMessages(control []byte) iter.Seq[ControlMessage] {
	return func(yield func(ControlMessage) bool) {
		for len(control) >= unix.SizeofCmsghdr {
			h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(control)))
			if h.Len < unix.SizeofCmsghdr {
				return
			}
			n := len(control)
			if told := int(h.Len); told > 0 && told < n {
				n = told
			}
			if !yield(ControlMessage{int(h.Level), int(h.Type), control[unix.CmsgLen(0):n]}) {
				return
			}
			control = control[min(unix.CmsgSpace(n-unix.CmsgLen(0)), len(control)):]
		}
	}
}

// AppendControl appends a message to the control data of a [Socket.SendMsg].
func AppendControl(control []byte, m ControlMessage) []byte {
	at := len(control)
	control = append(control, make([]byte, unix.CmsgSpace(len(m.Data)))...)
	h := (*unix.Cmsghdr)(unsafe.Pointer(&control[at]))
	h.Level, h.Type = int32(m.Level), int32(m.Type)
	h.SetLen(unix.CmsgLen(len(m.Data)))
	copy(control[at+unix.CmsgLen(0):], m.Data)
	return control
}
