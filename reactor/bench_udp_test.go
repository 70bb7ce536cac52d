//go:build linux

package reactor_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// The server and the client of these benchmarks are separate processes, each on its own CPU, so that the CPU time of
// the server is that of nothing else. A process is this test binary, with its role in a variable. The client never
// sleeps: to wake it would cost the server more than the message does, the less the more seldom it does so, and the
// time that it takes to wake would bound the rate.

const (
	roleVariable = "REACTOR_UDP_ROLE"
	udpMessage   = 128 // bytes
	udpWindow    = 64  // messages on their way, when they are echoed
)

// TestUDPRole is a process of a benchmark, not a test.
func TestUDPRole(t *testing.T) {
	role := strings.Fields(os.Getenv(roleVariable))
	if len(role) == 0 {
		t.Skip("it is a part of BenchmarkUDPEcho and BenchmarkUDPRecv")
	}
	switch role[0] {
	case "server":
		serveUDP(t, role[1], role[2], len(role) > 3)
	case "client":
		n, _ := strconv.Atoi(role[2])
		clientUDP(t, netip.MustParseAddrPort(role[3]), role[1], n)
	}
}

// BenchmarkUDPEcho sends messages of 128 bytes to a server that sends them back, 64 of them on their way. A server
// is coalesced if the kernel may give it many messages at a time, and send them so (UDP_GRO, UDP_SEGMENT).
func BenchmarkUDPEcho(b *testing.B) { benchmarkUDP(b, "echo") }

// BenchmarkUDPRecv sends messages of 128 bytes to a server that takes them, as fast as may be: what it does not
// come to is lost, and only what it took is counted.
func BenchmarkUDPRecv(b *testing.B) { benchmarkUDP(b, "recv") }

func benchmarkUDP(b *testing.B, what string) {
	if runtime.NumCPU() < 2 {
		b.Skip("it takes two CPUs")
	}
	const ring, soft, plain = string(reactor.IOUring), string(reactor.Epoll), "net"
	for _, name := range []string{ring, soft, plain, ring + " coalesced", soft + " coalesced", plain + " coalesced"} {
		b.Run(name, func(b *testing.B) {
			kind, how, _ := strings.Cut(name, " ")
			if kind != plain {
				need(b, reactor.RingKind(kind))
			}
			server := udpRole(b, 0, "server "+kind+" "+what+" "+how)
			addr := server.ask("")
			cpu, took := server.usage()
			b.ResetTimer()
			client := udpRole(b, 1, fmt.Sprintf("client %s %d %s", what, b.N, addr))
			client.end()
			b.StopTimer()
			cpuAfter, tookAfter := server.usage()
			server.end()
			n := tookAfter - took
			if n == 0 {
				b.Fatal("the server took no message")
			}
			b.ReportMetric(float64(cpuAfter-cpu)/float64(n), "cpu-ns/msg")
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "msg/s")
		})
	}
}

// process is one that has a role. It answers each line with one.
type process struct {
	b   *testing.B
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func udpRole(b *testing.B, cpu int, role string) *process {
	cmd := exec.Command("taskset", "-c", strconv.Itoa(cpu), os.Args[0], "-test.run=^TestUDPRole$")
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Skip(err)
	}
	return &process{b, cmd, in, bufio.NewReader(out)}
}

func (p *process) ask(line string) string {
	if line != "" {
		fmt.Fprintln(p.in, line)
	}
	answer, err := p.out.ReadString('\n')
	if err != nil {
		p.b.Fatal(err)
	}
	return strings.TrimSpace(answer)
}

// usage is how much CPU time, in ns, a server has used, and how many messages it has taken.
func (p *process) usage() (cpu, messages int64) {
	if _, err := fmt.Sscan(p.ask("usage"), &cpu, &messages); err != nil {
		p.b.Fatal(err)
	}
	return cpu, messages
}

func (p *process) end() {
	_ = p.in.Close()
	_, _ = io.Copy(io.Discard, p.out)
	if err := p.cmd.Wait(); err != nil {
		p.b.Errorf("%v: %v", p.cmd.Env[len(p.cmd.Env)-1], err)
	}
}

// serveUDP is the server. took, which it asks on the server's own thread, is how many messages that has taken.
func serveUDP(t *testing.T, kind, what string, coalesced bool) {
	var addr netip.AddrPort
	var took func() int64
	var stop func()
	runtime.GOMAXPROCS(3) // as Reactor.Run has it for one loop, whatever CPUs the process is bound to
	if kind == "net" {
		addr, took, stop = serveByNet(t, what == "echo", coalesced)
	} else {
		addr, took, stop = serveByLoop(t, reactor.RingKind(kind), what == "echo", coalesced)
	}
	fmt.Println(addr)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		fmt.Println(u.Utime.Nano()+u.Stime.Nano(), took())
	}
	stop()
}

// serveByNet serves as well as package net can.
func serveByNet(t *testing.T, echo, coalesced bool) (addr netip.AddrPort, took func() int64, stop func()) {
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	if coalesced {
		raw, err := c.SyscallConn()
		if err == nil {
			err = raw.Control(func(fd uintptr) { coalesce(t, int(fd)) })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	messages, over := int64(0), make(chan bool)
	go func() {
		defer close(over)
		buf := make([]byte, 16<<10)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			messages += messagesIn(n)
			if echo {
				_, _ = c.WriteToUDPAddrPort(buf[:n], from)
			}
		}
	}()
	return c.LocalAddr().(*net.UDPAddr).AddrPort(), func() int64 { return messages }, func() { c.Close(); <-over }
}

// coalesce makes the kernel give and take many messages at a time. All have the same size, so a server needs no control
// data to learn it.
func coalesce(t *testing.T, fd int) {
	for option, value := range map[int]int{unix.UDP_GRO: 1, unix.UDP_SEGMENT: udpMessage} {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_UDP, option, value); err != nil {
			t.Fatal(err)
		}
	}
}

func messagesIn(bytes int) int64 { return int64(bytes+udpMessage-1) / udpMessage }

// udpServer echoes what it receives, or only counts it.
type udpServer struct {
	socket   *reactor.Socket
	recv     reactor.RecvMsgManyOp
	free     *udpAnswer
	echo     bool
	messages int64
}

// udpAnswer is a datagram on its way back.
type udpAnswer struct {
	server *udpServer
	next   *udpAnswer
	what   reactor.Datagram
	send   reactor.SendToOp
}

func (s *udpServer) SetNext(d reactor.Datagram) {
	s.messages += messagesIn(len(d.Bytes()))
	if !s.echo {
		d.Release()
		return
	}
	a := s.free
	if a == nil {
		a = &udpAnswer{server: s}
	} else {
		s.free = a.next
	}
	a.what = d
	s.socket.SendTo(d.Bytes(), d.From).Connect(&a.send, a)
	a.send.Start()
}

func (s *udpServer) SetValue(struct{}) {}
func (s *udpServer) SetError(error)    {}
func (s *udpServer) SetStopped()       {}
func (s *udpServer) Env() sender.Env   { return sender.EmptyEnv{} }

func (a *udpAnswer) SetValue(int) {
	a.what.Release()
	a.next, a.server.free = a.server.free, a
}
func (a *udpAnswer) SetError(error)  { a.SetValue(0) }
func (a *udpAnswer) SetStopped()     { a.SetValue(0) }
func (a *udpAnswer) Env() sender.Env { return sender.EmptyEnv{} }

func serveByLoop(
	t *testing.T, kind reactor.RingKind, echo, coalesced bool,
) (addr netip.AddrPort, took func() int64, stop func()) {
	r := run(t, reactor.LoopConfig{Ring: kind})
	socket, at := r.udp()
	if coalesced {
		coalesce(t, socket.Fd())
	}
	s := &udpServer{echo: echo}
	r.do(func() {
		s.socket = socket
		s.socket.RecvFromMany(reactor.Unlimited).Connect(&s.recv, s)
		s.recv.Start()
	})
	took = func() (n int64) {
		r.do(func() { n = s.messages })
		return n
	}
	return at.AddrPort(), took, func() { r.close(s.socket); r.end() }
}

// clientUDP sends n messages, and if they are echoed has udpWindow of them on their way. One call sends or
// receives many, so that the server is what is measured.
func clientUDP(t *testing.T, addr netip.AddrPort, what string, n int) {
	fd, _ := udpPeer(t, ipAddress(t, addr.String()))
	defer unix.Close(fd)
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_SEGMENT, udpMessage); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, udpWindow*udpMessage)
	send := func(k int) {
		if _, err := unix.Write(fd, data[:k*udpMessage]); err != nil && err != unix.ENOBUFS && err != unix.EINTR {
			t.Fatal(err)
		}
	}
	if what == "recv" {
		for ; n > 0; n -= udpWindow {
			send(min(n, udpWindow))
		}
		return
	}
	box := newUDPBox()
	for sent, back := 0, 0; back < n; {
		if k := min(udpWindow-(sent-back), n-sent); k > udpWindow/2 || k == n-sent && k != 0 {
			send(k)
			sent += k
		}
		back += box.receive(t, fd, sent-back)
	}
}

// udpBox receives many messages at a time, by recvmmsg(2).
type udpBox struct {
	headers [udpWindow]struct {
		msg unix.Msghdr
		n   uint32
	}
	iov [udpWindow]unix.Iovec
	mem [udpWindow * udpMessage]byte
}

func newUDPBox() *udpBox {
	b := new(udpBox)
	for i := range b.headers {
		b.iov[i].Base = &b.mem[i*udpMessage]
		b.iov[i].SetLen(udpMessage)
		b.headers[i].msg.Iov = &b.iov[i]
		b.headers[i].msg.SetIovlen(1)
	}
	return b
}

// receive waits for one message, and takes at most n.
func (b *udpBox) receive(t *testing.T, fd, n int) int {
	for {
		got, _, errno := unix.Syscall6(
			unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.headers[0])), uintptr(n), unix.MSG_DONTWAIT, 0, 0)
		switch {
		case errno == 0:
			return int(got)
		case errno != unix.EINTR && errno != unix.EAGAIN:
			t.Fatal(errno)
		}
	}
}
