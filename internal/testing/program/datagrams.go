package program

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// Datagrams runs a server that answers requests over UDP, and clients on another loop that retry when no answer comes
// in time. Datagrams are lost, duplicated, reordered, and refused before the server is up. Each request must be
// answered in the end, with the answer to this request.
func Datagrams(k *simring.Kernel) (check func()) {
	rng := k.Rand()
	d := &datagrams{k: k, clients: 1 + rng.IntN(4), patience: 10*k.Odds.Latency + serverBackoff}
	d.at = netip.MustParseAddrPort([2]string{"127.0.0.1:53", "[::1]:53"}[rng.IntN(2)])
	loops := []*reactor.Loop{newLoop(k, 256+rng.IntN(512)), newLoop(k, 256)}
	for i := range d.clients {
		d.waits = append(d.waits, &datagramClient{
			datagrams: d, number: byte(i), requests: 1 + rng.IntN(8), connected: rng.IntN(2) == 0,
		})
	}
	d.loops = runLoops(k, loops, func(l *reactor.Loop) {
		if l == loops[0] {
			d.server = &datagramServer{datagrams: d, loop: l}
			d.server.start()
			return
		}
		for _, c := range d.waits {
			c.loop = l
			c.taskRun = launch(k, l, c.run, func(*taskRun) { d.clients-- })
		}
	})
	early := rng.IntN(4) == 0
	k.Go("stopper", func(t *simring.Thread) {
		t.Until(d.loops.Up)
		if early {
			t.Sleep(time.Duration(rng.Int64N(int64(20 * time.Millisecond))))
		} else {
			t.Until(func() bool { return d.clients == 0 })
		}
		d.loops.Stop()
	})
	return func() {
		for _, c := range d.waits {
			if c.taskRun == nil || c.taskRun.ended != 1 || !early && c.answered != c.requests {
				k.Errorf("client %d got %d of %d answers", c.number, c.answered, c.requests)
			}
		}
	}
}

type datagrams struct {
	k        *simring.Kernel
	at       netip.AddrPort
	loops    *running
	server   *datagramServer
	waits    []*datagramClient
	clients  int // that have not ended
	patience time.Duration
}

// serverBackoff is longer than a loop backs off when a receive finds no buffer. Clients that retry faster than that
// may ask more often than the server answers, and none of them may succeed.
const serverBackoff = 25 * time.Millisecond

// open makes a UDP socket. It retries until there is a descriptor.
func (d *datagrams) open(s *reactor.Socket, l *reactor.Loop) {
	family := unix.AF_INET
	if d.at.Addr().Is6() {
		family = unix.AF_INET6
	}
	for s.Open(l, family, unix.SOCK_DGRAM, 0) != nil { // until there are descriptors
	}
}

// answer returns the answer to a request.
func answer(request []byte) []byte {
	b := bytes.Clone(request)
	for i := 2; i < len(b); i++ {
		b[i] ^= 0x5a
	}
	return b
}

// datagramServer answers requests.
type datagramServer struct {
	sender.EmptyEnv
	*datagrams
	loop   *reactor.Loop
	socket reactor.Socket
	recv   reactor.RecvMsgManyOp
	close  reactor.CloseOp
}

func (s *datagramServer) start() {
	s.open(&s.socket, s.loop)
	a, err := reactor.IPAddress(s.at)
	if err == nil {
		err = s.socket.Bind(a)
	}
	if err != nil {
		s.k.Errorf("bind: %v", err)
	}
	s.socket.RecvFromMany(1+s.k.Rand().IntN(8)).Connect(&s.recv, s)
	s.recv.Start()
}

// SetNext answers a request.
func (s *datagramServer) SetNext(d reactor.Datagram) {
	r := &reply{server: s, data: answer(d.Bytes())}
	if d.Truncated() {
		s.k.Errorf("a request was truncated to %d bytes", len(d.Bytes()))
	}
	s.socket.SendTo(r.data, d.From).Connect(&r.op, r)
	d.Release()
	r.op.Start()
}

func (s *datagramServer) SetValue(struct{}) { s.k.Errorf("a sequence of datagrams completed") }
func (s *datagramServer) SetError(err error) {
	s.k.Errorf("receiving datagrams: %v", err)
	s.SetStopped()
}
func (s *datagramServer) Env() sender.Env { return s }
func (s *datagramServer) SetStopped() {
	s.socket.Close().Connect(&s.close, &closed{k: s.k})
	s.close.Start()
}

// reply is an answer that is being sent. When it is sent, it grants credit for one more request.
type reply struct {
	sender.EmptyEnv
	server *datagramServer
	op     reactor.SendToOp
	data   []byte
}

func (r *reply) SetValue(n int) {
	if n != len(r.data) {
		r.server.k.Errorf("%d of %d bytes of a datagram were sent", n, len(r.data))
	}
	r.server.recv.Grant(1)
}

func (r *reply) SetError(err error) {
	if !errors.Is(err, net.ErrClosed) { // the server has ended
		r.server.k.Errorf("answering: %v", err)
	}
}

func (r *reply) SetStopped()     {}
func (r *reply) Env() sender.Env { return r }

// datagramClient sends one request after the other.
type datagramClient struct {
	*datagrams
	loop      *reactor.Loop
	number    byte
	connected bool
	socket    reactor.Socket
	taskRun   *taskRun
	requests  int
	answered  int
}

func (c *datagramClient) run(t *task.T) error {
	c.open(&c.socket, c.loop)
	defer closeAll(c.k, t, &c.socket)
	to, err := reactor.IPAddress(c.at)
	if err != nil {
		return err
	}
	if c.connected {
		if _, err := task.Await(t, c.socket.DialTo(to)); err != nil {
			return err
		}
		to = reactor.Address{}
	}
	for c.answered < c.requests {
		if err := c.ask(t, to); err != nil {
			return err
		}
		c.answered++
	}
	return nil
}

// ask repeats a request until the answer arrives. It ignores answers to earlier requests, which come late or twice.
func (c *datagramClient) ask(t *task.T, to reactor.Address) error {
	request := []byte{c.number, byte(c.answered)}
	for range c.k.Rand().IntN(150) {
		request = append(request, byte(c.k.Rand().Uint32()))
	}
	buf := make([]byte, 256)
	for {
		exchange := sender.Let(c.socket.SendTo(request, to), after[int](c.socket.RecvFrom(buf)))
		m, err := task.Await(t, sender.Retry(sender.Timeout(exchange, c.loop.SleepFor(c.patience)), c.again))
		if err != nil {
			return err
		}
		got := buf[:m.N]
		switch {
		case m.N < 2 || got[0] != c.number || got[1] > byte(c.answered):
			return fmt.Errorf("client %d was answered % x to request %d", c.number, got, c.answered)
		case got[1] < byte(c.answered):
			continue
		case !bytes.Equal(got, answer(request)):
			return fmt.Errorf("client %d was answered % x instead of % x", c.number, got, answer(request))
		}
		return nil
	}
}

// after makes a function that returns s, whatever value came before.
func after[T, S any](s S) func(T) S { return func(T) S { return s } }

// again reports whether a request is to be repeated.
func (c *datagramClient) again(failed int, err error) bool {
	expected := errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.EAGAIN)
	return expected && failed < 1000
}
