//go:build linux

package netconn

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// socketKind determines what a Stream may conclude from the length of a receive or a send.
type socketKind uint8

const (
	kindTCP       socketKind = iota
	kindStream               // of another family, such as unix: a receive ends at descriptors that are passed
	kindPackets              // SOCK_SEQPACKET
	kindDatagrams            // SOCK_DGRAM
)

// drains reports whether a receive that was shorter than its buffer has left nothing behind.
func (k socketKind) drains() bool { return k == kindTCP }

// messages reports whether each send is a message, also one of no bytes.
func (k socketKind) messages() bool { return k == kindPackets || k == kindDatagrams }

// kindOf asks the kernel.
func kindOf(s *reactor.Socket) (socketKind, error) {
	typ, err := s.Type()
	if err != nil {
		return 0, os.NewSyscallError("getsockopt", err)
	}
	switch typ {
	case unix.SOCK_DGRAM, unix.SOCK_RAW:
		return kindDatagrams, nil
	case unix.SOCK_SEQPACKET:
		return kindPackets, nil
	}
	family, err := s.Family()
	if err != nil {
		return 0, os.NewSyscallError("getsockopt", err)
	}
	if family != unix.AF_INET && family != unix.AF_INET6 {
		return kindStream, nil
	}
	return kindTCP, nil
}
