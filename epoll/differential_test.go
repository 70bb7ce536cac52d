//go:build linux

package epoll

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/uring"
)

// FuzzDifferential runs random programs on the kernel's ring and on this package's. Both must make the same
// completions.
//
// A program is a sequence of steps, three bytes each: the step, its endpoint and its argument. Some steps push an
// entry, others do what the peer or the program would do by a system call (listen(2), shutdown(2)). The program runs in
// two worlds that differ in the ring only. After each step both run until nothing further completes, so that no step
// races with the one before. Steps whose outcome the kernel leaves open (two receives on one endpoint, for example) are
// left out.
func FuzzDifferential(f *testing.F) {
	if _, err := uring.Probe(); err != nil {
		f.Skipf("no io_uring to compare with: %v", err)
	}
	for what := range byte(steps) {
		for end := range byte(endpoints) {
			f.Add([]byte{provideAll, 0, 0, what, end, 5, peerWrite, end, 70, what, end, 200, cancelEnd, end, 0})
			f.Add([]byte{what, end, 9, peerShut, end, 0, what, end, 9, provideAll, 0, 0, what, end, 0, peerClose,
				end, 1, what, end, 0})
		}
	}
	// Datagrams fill the queue of a unix socket.
	full := bytes.Repeat([]byte{sendNow, queue, 5, sendMsgNow, queue, 4}, 8)
	f.Add(append(full, peerRead, queue, 0, sendMsgNow, queue, 7, sendNow, queue, 9, peerRead, queue, 0))
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) > 3*64 {
			return
		}
		newDifferential(t).run(program)
	})
}

// The endpoints of a world. The ring works on the near end, the peer has the far one.
const (
	unixA = iota
	unixB
	tcpA
	tcpB
	datagram
	pipeRead
	pipeWrite
	listener
	dialer // a socket that is not connected yet
	seqpacket
	udp     // connected, IPv6
	udpFree // not connected, IPv4
	queue   // a unix socket for datagrams, connected to one with a name, whose queue is short
	endpoints
)

// The steps.
const (
	recv = iota
	recvSelect
	recvMulti
	recvLimit
	recvMsg
	send
	sendBig
	sendMsg
	accept
	acceptMulti
	connect
	shutdown
	poll
	pollMulti
	read
	write
	cancelOne
	cancelEnd
	closeNear
	provideAll
	peerWrite
	peerRead
	peerShut
	peerClose
	sendTo
	sendZC
	sendMsgZC
	recvMsgMulti
	recvNamed
	recvOOB
	listen
	peerUrgent
	peerPass
	sendNow // does not wait
	sendMsgNow
	steps
)

// outcome is the part of a completion that is compared.
type outcome struct {
	res   int32
	flags uint32
	more  string // the bytes received
}

// pending is an entry that was pushed.
type pending struct {
	op   int
	end  int
	into []byte
	msg  *namedMessage
	name int // room for a name in the buffer
	done bool
}

// world is a ring with its endpoints.
type world struct {
	*rig
	near, far [endpoints]int  // −1: closed
	closed    [endpoints]int  // what near was when it was closed
	addr      unix.Sockaddr   // of the listener
	freeAddr  unix.Sockaddr   // of the far end of udpFree
	shut      [endpoints]bool // by either side
	empty     [endpoints]bool // an empty datagram came
	urgent    [endpoints]bool // urgent data came: the kernel blocks a worker thread in an ordinary receive
	sent      [endpoints]int  // bytes that completions of sends report
	got       [endpoints]int  // of them, read by the peer
	log       map[uint64][]outcome
	all       map[uint64]*pending
	spare     []uint16 // buffers that completions have named
	used      bool     // the dialer was connected, or listened
	refused   bool     // the dialer was connected to what answers by ICMP
	peers     int      // connections to the listener
	read      []byte   // what the peers have read
}

func newWorld(t testing.TB, r ring) *world {
	w := &world{rig: newRig(t, r), log: map[uint64][]outcome{}, all: map[uint64]*pending{}}
	for i := range uint16(bufCount) {
		w.spare = append(w.spare, i)
	}
	for _, e := range []int{unixA, unixB} {
		w.near[e], w.far[e] = w.pair(unix.SOCK_STREAM)
		w.narrow(w.near[e], w.far[e])
	}
	for _, e := range []int{tcpA, tcpB} {
		w.near[e], w.far[e] = w.tcp()
		w.check(unix.SetsockoptInt(w.far[e], unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
	}
	w.near[datagram], w.far[datagram] = w.pair(unix.SOCK_DGRAM)
	w.near[pipeRead], w.far[pipeRead] = w.pipe()
	w.far[pipeWrite], w.near[pipeWrite] = w.pipe()
	w.near[listener], w.addr = w.listen()
	w.far[listener] = -1
	w.near[dialer], w.far[dialer] = w.socket(), -1
	w.near[seqpacket], w.far[seqpacket] = w.pair(unix.SOCK_SEQPACKET)
	w.near[udp], w.far[udp] = w.udpPair(&unix.SockaddrInet6{Addr: [16]byte{15: 1}}, true)
	w.near[udpFree], w.far[udpFree] = w.udpPair(&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}, false)
	var err error
	w.freeAddr, err = unix.Getsockname(w.far[udpFree])
	w.check(err)
	w.near[queue], w.far[queue] = w.queuePair()
	for _, fd := range w.far {
		if fd >= 0 {
			w.check(unix.SetNonblock(fd, true))
		}
	}
	// Thousands of programs a second would leave no port out of TIME_WAIT.
	t.Cleanup(func() {
		for _, fd := range w.fds {
			_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
		}
	})
	return w
}

// differential is a run of one program in two worlds.
type differential struct {
	testing.TB
	worlds   [2]*world
	text     []string // the steps taken, to be read by people
	patience time.Duration
}

// patience is how long two worlds may differ, and how long the network may take.
const patience = 3 * time.Second

func newDifferential(t testing.TB) *differential {
	d := &differential{TB: t, patience: patience}
	d.worlds[0] = newWorld(t, newEpoll(t, Config{Entries: 4, BatchBytes: 100}))
	d.worlds[1] = newWorld(t, newKernel(t))
	return d
}

func (d *differential) run(program []byte) {
	for ; len(program) >= 3; program = program[3:] {
		what, end, arg := int(program[0])%steps, int(program[1])%endpoints, int(program[2])
		if !d.worlds[0].allowed(what, end, arg) {
			continue
		}
		d.text = append(d.text, fmt.Sprintf("%s(%s, %d)", stepNames[what], endNames[end], arg))
		for _, w := range d.worlds {
			w.step(what, end, arg)
		}
		d.settle()
	}
	for end := range endpoints {
		d.text = append(d.text, fmt.Sprintf("final cancelEnd(%s)", endNames[end]))
		for _, w := range d.worlds {
			if w.near[end] >= 0 {
				w.cancelEnd(end)
			}
		}
		d.settle()
	}
	if string(d.worlds[0].read) != string(d.worlds[1].read) {
		d.Fatalf("the peers have read something else:\n%q\n%q", d.worlds[0].read, d.worlds[1].read)
	}
}

var (
	stepNames = [steps]string{
		"recv", "recvSelect", "recvMulti", "recvLimit", "recvMsg", "send", "sendBig", "sendMsg", "accept",
		"acceptMulti", "connect", "shutdown", "poll", "pollMulti", "read", "write", "cancelOne", "cancelEnd",
		"closeNear", "provideAll", "peerWrite", "peerRead", "peerShut", "peerClose", "sendTo", "sendZC", "sendMsgZC",
		"recvMsgMulti", "recvNamed", "recvOOB", "listen", "peerUrgent", "peerPass", "sendNow", "sendMsgNow",
	}
	endNames = [endpoints]string{
		"unixA", "unixB", "tcpA", "tcpB", "datagram", "pipeRead", "pipeWrite", "listener", "dialer",
		"seqpacket", "udp", "udpFree", "queue",
	}
)

// settle runs both worlds until they agree and nothing further completes.
func (d *differential) settle() {
	deadline := time.Now().Add(d.patience)
	for still := 0; still < 3; {
		moved := false
		for _, w := range d.worlds {
			moved = w.pump() || moved
		}
		switch same := d.same(); {
		case moved || !same:
			still = 0
			if !same {
				runtime.Gosched()
			}
		default:
			still++
		}
		if time.Now().After(deadline) {
			d.report()
		}
	}
}

func (d *differential) same() bool {
	a, b := d.worlds[0], d.worlds[1]
	if len(a.log) != len(b.log) {
		return false
	}
	for ud := range a.all {
		if !slices.Equal(a.log[ud], b.log[ud]) {
			return false
		}
	}
	return true
}

func (d *differential) report() {
	for _, s := range d.text {
		d.Log(s)
	}
	for ud := uint64(1); ud < d.worlds[0].next; ud++ {
		a, b := d.worlds[0].log[ud], d.worlds[1].log[ud]
		if p := d.worlds[0].all[ud]; p != nil && !slices.Equal(a, b) {
			d.Errorf("entry %d, %s(%s):\n  epoll %+v\n  uring %+v", ud, stepNames[p.op], endNames[p.end], a, b)
		}
	}
	d.FailNow()
}
