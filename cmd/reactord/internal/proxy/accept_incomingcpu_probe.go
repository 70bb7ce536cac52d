package proxy

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// errIncomingCPU reports a kernel that accepts the option and does not heed it.
var errIncomingCPU = errors.New("this kernel does not choose among sockets that share an address by SO_INCOMING_CPU: " +
	"Linux 6.2 or newer does")

// ProbeIncomingCPU returns why the kernel does not heed SO_INCOMING_CPU among sockets that share an address, or nil if
// it does. It sends itself a few datagrams. From any goroutine.
func ProbeIncomingCPU() error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread is bound to a CPU, and ends
		result <- probeIncomingCPU()
	}()
	return <-result
}

// probes counts the datagrams. A kernel that spreads them by hash gives one socket all of them once in 2^32.
const probes = 32

func probeIncomingCPU() error {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return os.NewSyscallError("sched_getaffinity", err)
	}
	cpu := 0
	for !allowed.IsSet(cpu) {
		cpu++
	}
	var one unix.CPUSet
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return os.NewSyscallError("sched_setaffinity", err)
	}
	here, address, err := sharing(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}, cpu)
	if err != nil {
		return err
	}
	defer unix.Close(here)
	elsewhere, _, err := sharing(address, cpu+1)
	if err != nil {
		return err
	}
	defer unix.Close(elsewhere)
	for range probes {
		if err := sendOne(address); err != nil {
			return err
		}
	}
	for n := range probes {
		switch _, _, err := unix.Recvfrom(here, make([]byte, 1), unix.MSG_DONTWAIT); {
		case errors.Is(err, unix.EAGAIN):
			return errIncomingCPU
		case err != nil:
			return fmt.Errorf("datagram %d: %w", n, os.NewSyscallError("recvfrom", err))
		}
	}
	return nil
}

// sharing returns a socket for datagrams that shares its address, and prefers what a CPU receives.
func sharing(at unix.Sockaddr, cpu int) (fd int, address unix.Sockaddr, err error) {
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, nil, os.NewSyscallError("socket", err)
	}
	if err = errors.Join(
		os.NewSyscallError("setsockopt SO_REUSEPORT", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)),
		os.NewSyscallError("setsockopt SO_INCOMING_CPU", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_INCOMING_CPU, cpu)),
		os.NewSyscallError("bind", unix.Bind(fd, at)),
	); err == nil {
		address, err = unix.Getsockname(fd)
	}
	if err != nil {
		_ = unix.Close(fd)
	}
	return fd, address, err
}

// sendOne sends a byte from a socket of its own, so that the kernel may choose another receiver than for the last one.
func sendOne(to unix.Sockaddr) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	return os.NewSyscallError("sendto", unix.Sendto(fd, []byte{0}, 0, to))
}
