//go:build linux

package reactor_test

import (
	"errors"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
)

// Each option is set by its method and read back by package unix.
func TestSocketOptions(t *testing.T) {
	r := run(t, reactor.LoopConfig{Ring: reactor.Epoll})
	defer r.end()
	var tcp4, tcp6, udp4, udp6 reactor.Socket
	for s, how := range map[*reactor.Socket][2]int{
		&tcp4: {unix.AF_INET, unix.SOCK_STREAM}, &tcp6: {unix.AF_INET6, unix.SOCK_STREAM},
		&udp4: {unix.AF_INET, unix.SOCK_DGRAM}, &udp6: {unix.AF_INET6, unix.SOCK_DGRAM},
	} {
		if err := s.Open(r.Loop, how[0], how[1], 0); err != nil {
			t.Skip(err)
		}
	}
	const ip, ip6, tcp, udp, sock = unix.IPPROTO_IP, unix.IPPROTO_IPV6, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.SOL_SOCKET
	for name, c := range map[string]struct {
		set           error
		s             *reactor.Socket
		level, option int
		want          int
	}{
		"NoDelay":           {tcp4.SetNoDelay(true), &tcp4, tcp, unix.TCP_NODELAY, 1},
		"Cork":              {tcp4.SetCork(true), &tcp4, tcp, unix.TCP_CORK, 1},
		"QuickAck":          {tcp4.SetQuickAck(false), &tcp4, tcp, unix.TCP_QUICKACK, 0},
		"UserTimeout":       {tcp4.SetUserTimeout(1500*time.Millisecond + 1), &tcp4, tcp, unix.TCP_USER_TIMEOUT, 1501},
		"DeferAccept":       {tcp4.SetDeferAccept(time.Second), &tcp4, tcp, unix.TCP_DEFER_ACCEPT, 1},
		"FastOpenConnect":   {tcp6.SetFastOpenConnect(true), &tcp6, tcp, unix.TCP_FASTOPEN_CONNECT, 1},
		"NotSentLowWater":   {tcp4.SetNotSentLowWater(4096), &tcp4, tcp, unix.TCP_NOTSENT_LOWAT, 4096},
		"ReuseAddr":         {tcp4.SetReuseAddr(true), &tcp4, sock, unix.SO_REUSEADDR, 1},
		"ReusePort":         {tcp4.SetReusePort(true), &tcp4, sock, unix.SO_REUSEPORT, 1},
		"RecvBuffer":        {tcp4.SetRecvBuffer(8192), &tcp4, sock, unix.SO_RCVBUF, 16384},
		"SendBuffer":        {tcp4.SetSendBuffer(8192), &tcp4, sock, unix.SO_SNDBUF, 16384},
		"ReceiveLowWater":   {tcp4.SetReceiveLowWater(100), &tcp4, sock, unix.SO_RCVLOWAT, 100},
		"Priority":          {tcp4.SetPriority(3), &tcp4, sock, unix.SO_PRIORITY, 3},
		"IncomingCPU":       {tcp4.SetIncomingCPU(0), &tcp4, sock, unix.SO_INCOMING_CPU, 0},
		"Broadcast":         {udp4.SetBroadcast(true), &udp4, sock, unix.SO_BROADCAST, 1},
		"IPv6Only":          {tcp6.SetIPv6Only(true), &tcp6, ip6, unix.IPV6_V6ONLY, 1},
		"TrafficClass":      {udp4.SetTrafficClass(0x10), &udp4, ip, unix.IP_TOS, 0x10},
		"TrafficClass 6":    {udp6.SetTrafficClass(0x10), &udp6, ip6, unix.IPV6_TCLASS, 0x10},
		"FreeBind":          {tcp4.SetFreeBind(true), &tcp4, ip, unix.IP_FREEBIND, 1},
		"FreeBind 6":        {tcp6.SetFreeBind(true), &tcp6, ip6, unix.IPV6_FREEBIND, 1},
		"MulticastTTL":      {udp4.SetMulticastTTL(5), &udp4, ip, unix.IP_MULTICAST_TTL, 5},
		"MulticastTTL 6":    {udp6.SetMulticastTTL(5), &udp6, ip6, unix.IPV6_MULTICAST_HOPS, 5},
		"MulticastLoop":     {udp4.SetMulticastLoop(false), &udp4, ip, unix.IP_MULTICAST_LOOP, 0},
		"MulticastLoop 6":   {udp6.SetMulticastLoop(false), &udp6, ip6, unix.IPV6_MULTICAST_LOOP, 0},
		"MulticastInter. 6": {udp6.SetMulticastInterface(1), &udp6, ip6, unix.IPV6_MULTICAST_IF, 1},
		"PacketInfo":        {udp4.SetPacketInfo(true), &udp4, ip, unix.IP_PKTINFO, 1},
		"ReceiveErrors":     {udp4.SetReceiveErrors(true), &udp4, ip, unix.IP_RECVERR, 1},
		"ReceiveErrors 6":   {udp6.SetReceiveErrors(true), &udp6, ip6, unix.IPV6_RECVERR, 1},
		"PacketInfo 6":      {udp6.SetPacketInfo(true), &udp6, ip6, unix.IPV6_RECVPKTINFO, 1},
		"SegmentSize":       {udp4.SetSegmentSize(1200), &udp4, udp, unix.UDP_SEGMENT, 1200},
		"Coalescing":        {udp4.SetCoalescing(true), &udp4, udp, unix.UDP_GRO, 1},
	} {
		got, err := unix.GetsockoptInt(c.s.Fd(), c.level, c.option)
		if c.set != nil || err != nil || got != c.want {
			t.Errorf("%s: set %v, get %d %v; want %d", name, c.set, got, err, c.want)
		}
	}
	checkSizes(t, &tcp4)
	checkKeepAlive(t, &tcp4)
	checkLinger(t, &tcp4)
	checkCongestion(t, &tcp4)
	checkGroups(t, &udp4, &udp6)
	if os.Geteuid() == 0 {
		checkPrivileged(t, &tcp4, &tcp6)
	}
	r.close(&tcp4, &tcp6, &udp4, &udp6)
}

func checkSizes(t *testing.T, s *reactor.Socket) {
	for name, get := range map[string]func() (int, error){"RecvBuffer": s.RecvBuffer, "SendBuffer": s.SendBuffer} {
		if n, err := get(); n != 16384 || err != nil {
			t.Errorf("%s is %d, %v", name, n, err)
		}
	}
	if err := s.SetMaxPacingRate(1 << 20); err != nil {
		t.Error(err)
	}
	if rate, err := s.MaxPacingRate(); rate != 1<<20 || err != nil {
		t.Errorf("pacing at %d, %v", rate, err)
	}
}

func checkKeepAlive(t *testing.T, s *reactor.Socket) {
	get := func(level, option int) int {
		v, err := unix.GetsockoptInt(s.Fd(), level, option)
		if err != nil {
			t.Error(err)
		}
		return v
	}
	count := get(unix.IPPROTO_TCP, unix.TCP_KEEPCNT)
	if err := s.SetKeepAlive(1500*time.Millisecond, 3*time.Second, 0); err != nil {
		t.Error(err)
	}
	got := [4]int{get(unix.SOL_SOCKET, unix.SO_KEEPALIVE), get(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE),
		get(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL), get(unix.IPPROTO_TCP, unix.TCP_KEEPCNT)}
	if want := [4]int{1, 2, 3, count}; got != want {
		t.Errorf("keep-alive is %v, want %v", got, want)
	}
	if err := s.SetKeepAlive(0, 0, 0); err != nil || get(unix.SOL_SOCKET, unix.SO_KEEPALIVE) != 0 {
		t.Errorf("keep-alive cannot be switched off: %v", err)
	}
}

func checkLinger(t *testing.T, s *reactor.Socket) {
	for _, c := range []struct {
		set  func() error
		want unix.Linger
	}{
		{func() error { return s.SetLinger(2 * time.Second) }, unix.Linger{Onoff: 1, Linger: 2}},
		{s.SetAbort, unix.Linger{Onoff: 1}},
		{func() error { return s.SetLinger(-1) }, unix.Linger{}},
	} {
		set := c.set()
		got, err := unix.GetsockoptLinger(s.Fd(), unix.SOL_SOCKET, unix.SO_LINGER)
		if set != nil || err != nil || *got != c.want {
			t.Errorf("lingers by %+v (%v, %v), want %+v", got, set, err, c.want)
		}
	}
}

func checkCongestion(t *testing.T, s *reactor.Socket) {
	if err := s.SetCongestion("reno"); err != nil {
		t.Error(err)
	}
	if name, err := s.Congestion(); name != "reno" || err != nil {
		t.Errorf("congestion control is %q, %v", name, err)
	}
	if err := s.SetCongestion("no such thing"); err == nil {
		t.Error("an unknown algorithm is taken")
	}
	info, err := s.TCPInfo()
	if err != nil || info.State != 7 { // TCP_CLOSE
		t.Errorf("TCP_INFO of a fresh socket: %+v, %v", info, err)
	}
	if err := s.TakeError(); err != nil {
		t.Errorf("a fresh socket has an error: %v", err)
	}
}

func checkGroups(t *testing.T, udp4, udp6 *reactor.Socket) {
	for group, s := range map[string]*reactor.Socket{"239.1.2.3": udp4, "ff02::123": udp6} {
		a := netip.MustParseAddr(group)
		if err := s.LeaveGroup(a, 1); !errors.Is(err, syscall.EADDRNOTAVAIL) {
			t.Errorf("leaving a group that it is not in: %v", err)
		}
		for name, err := range map[string]error{"join": s.JoinGroup(a, 1), "leave": s.LeaveGroup(a, 1)} {
			if err != nil {
				t.Errorf("%s %s: %v", name, group, err)
			}
		}
	}
	if err := udp4.SetMulticastInterface(1); err != nil {
		t.Error(err)
	}
	if err := udp4.JoinGroup(netip.Addr{}, 0); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("joining no group: %v", err)
	}
}

func checkPrivileged(t *testing.T, tcp4, tcp6 *reactor.Socket) {
	for name, err := range map[string]error{
		"Transparent":   tcp4.SetTransparent(true),
		"Transparent 6": tcp6.SetTransparent(true),
		"Mark":          tcp4.SetMark(0xffffffff),
		"BindToDevice":  tcp4.BindToDevice("lo"),
	} {
		if err != nil && !errors.Is(err, syscall.EPERM) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if name, err := unix.GetsockoptString(tcp4.Fd(), unix.SOL_SOCKET, unix.SO_BINDTODEVICE); err == nil && name != "lo" {
		t.Errorf("bound to %q", name)
	}
}

// A connection that is refused leaves its error on the socket, once.
func TestTakeError(t *testing.T) {
	r := run(t, reactor.LoopConfig{Ring: reactor.Epoll})
	var s, closed reactor.Socket
	if err := closed.Open(r.Loop, unix.AF_INET, unix.SOCK_DGRAM, 0); err != nil {
		t.Fatal(err)
	}
	if err := closed.Bind(ipAddress(t, "127.0.0.1:0")); err != nil {
		t.Fatal(err)
	}
	at, _ := closed.LocalAddr()
	r.close(&closed)
	if err := s.Open(r.Loop, unix.AF_INET, unix.SOCK_DGRAM, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.Connect(s.Fd(), &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Write(s.Fd(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := s.TakeError(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v", err)
	}
	if err := s.TakeError(); err != nil {
		t.Errorf("the second time: %v", err)
	}
	r.close(&s)
	r.end()
}

func TestPeerCredentials(t *testing.T) {
	r := run(t, reactor.LoopConfig{Ring: reactor.Epoll})
	var a, b reactor.Socket
	if err := reactor.OpenPair(r.Loop, unix.SOCK_STREAM, &a, &b); err != nil {
		t.Fatal(err)
	}
	cred, err := a.PeerCredentials()
	want := unix.Ucred{Pid: int32(os.Getpid()), Uid: uint32(os.Getuid()), Gid: uint32(os.Getgid())}
	if err != nil || cred != want {
		t.Errorf("%+v, %v; want %+v", cred, err, want)
	}
	r.close(&a, &b)
	r.end()
}
