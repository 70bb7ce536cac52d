//go:build linux

package netconn

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// Listener accepts connections for goroutines, on one loop or several. Accept returns a *[Stream].
type Listener struct {
	addr   net.Addr
	conns  chan *Stream
	closed chan struct{}
	once   sync.Once
	parts  []*accepting
	loops  []*reactor.Loop
	left   atomic.Int32  // parts that have not ended
	next   atomic.Uint32 // of loops, where one accepts for all
}

var _ net.Listener = (*Listener)(nil)

// Listen listens on an address, with the loops given, which run or will run. Each of them accepts connections, and
// watches those that it has accepted; of a unix address the first loop accepts for all. The connections have
// TCP_NODELAY and keep-alive, as in package net: see [reactor.KeepAliveIdle]. cfg.Options is called after that, and may
// change it by [reactor.Socket.SetKeepAlive].
//
// An address that another socket listens on is an error, as in package net: "listen tcp 127.0.0.1:80: bind: address
// already in use". Processes that share an address on purpose call [reactor.Socket.SetReusePort] in cfg.Options, all of
// them.
//
// On any goroutine. If a loop ends, so do its connections; when all have ended, Accept returns net.ErrClosed.
func Listen(cfg reactor.ListenConfig, loops ...*reactor.Loop) (*Listener, error) {
	if len(loops) == 0 {
		return nil, errors.New("netconn: Listen without a loop: pass one, or all of a Reactor's Loops()")
	}
	ln := &Listener{conns: make(chan *Stream, len(loops)*acceptCredit), closed: make(chan struct{}), loops: loops}
	accepting := loops
	if cfg.Exclusive || cfg.Address.Family() == unix.AF_UNIX {
		accepting = loops[:1]
	}
	options := cfg.Options
	cfg.Options = func(s *reactor.Socket) error {
		if err := setDefaults(s, 0); err != nil { // which accepted sockets inherit
			return err
		}
		if options != nil {
			return options(s)
		}
		return nil
	}
	for _, l := range accepting {
		if err := ln.add(l, &cfg); err != nil {
			for _, a := range ln.parts {
				unix.Close(a.s.Fd())
			}
			return nil, cfg.OpError(err)
		}
	}
	ln.left.Store(int32(len(ln.parts)))
	for _, a := range ln.parts {
		a.l.Enqueue(&a.begin)
	}
	return ln, nil
}

// setDefaults sets TCP_NODELAY and keep-alive, if s is of TCP.
func setDefaults(s *reactor.Socket, keepAlive time.Duration) error {
	if kind, err := kindOf(s); err != nil || kind != kindTCP {
		return err
	}
	if err := s.SetNoDelay(true); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	return s.KeepAlive(keepAlive)
}

// open opens the listener. The first one finds out whether the address is taken, and then lets the others share it.
func (a *accepting) open(cfg *reactor.ListenConfig, first bool) error {
	own := *cfg
	own.Exclusive = cfg.Exclusive || first
	if err := a.s.OpenListener(a.l, own); err != nil {
		return err
	}
	if !first || cfg.Exclusive || len(a.ln.loops) == 1 || cfg.Address.Family() == unix.AF_UNIX {
		return nil
	}
	err := os.NewSyscallError("setsockopt", a.s.SetReusePort(true))
	if err != nil {
		unix.Close(a.s.Fd())
	}
	return err
}

// add opens a listener on a loop. Behind the first one all have its port.
func (ln *Listener) add(l *reactor.Loop, cfg *reactor.ListenConfig) error {
	a := &accepting{ln: ln, l: l}
	err := a.open(cfg, len(ln.parts) == 0)
	if err != nil {
		return err
	}
	if a.kind, err = kindOf(&a.s); err != nil {
		unix.Close(a.s.Fd())
		return err
	}
	a.begin.Runner, a.grant.Runner, a.end.Runner = (*acceptBegin)(a), (*acceptGrant)(a), (*acceptEnd)(a)
	ln.parts = append(ln.parts, a)
	if ln.addr != nil {
		return nil
	}
	local, err := a.s.LocalAddress()
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	typ, _ := a.s.Type()
	ln.addr = netAddr(local, local, typ)
	if local.Family() != unix.AF_UNIX {
		cfg.Address = local
		cfg.Addr = netip.AddrPort{}
	}
	return nil
}

// Accept waits for a connection. On any goroutine.
func (ln *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-ln.conns:
		c.from.taken()
		return c, nil
	case <-ln.closed:
		return nil, &net.OpError{Op: "accept", Net: networkOf(ln.addr), Addr: ln.addr, Err: net.ErrClosed}
	}
}

// Addr returns the address that it listens on.
func (ln *Listener) Addr() net.Addr { return ln.addr }

// Close ends Accept, and closes connections that were not taken. A unix socket's path stays.
func (ln *Listener) Close() error {
	err := error(&net.OpError{Op: "close", Net: networkOf(ln.addr), Addr: ln.addr, Err: net.ErrClosed})
	ln.once.Do(func() {
		err = nil
		close(ln.closed)
		for _, a := range ln.parts {
			a.close()
		}
		ln.drop()
	})
	return err
}

// drop closes what Accept will not take.
func (ln *Listener) drop() {
	for {
		select {
		case c := <-ln.conns:
			_ = c.Close()
		default:
			return
		}
	}
}

// acceptCredit is the number of connections that a loop accepts ahead of Accept.
const acceptCredit = 128

// accepting is the part of a Listener on one loop.
type accepting struct {
	ln                *Listener
	l                 *reactor.Loop
	s                 reactor.Socket
	kind              socketKind // of its connections
	op                reactor.AcceptManyOp
	closeOp           reactor.CloseOp
	begin, grant, end sender.Work
	given             atomic.Int32 // connections that Accept took since the last grant
	ended             bool         // on the loop's thread
	closing           atomic.Bool
}

// close makes the loop close the part's socket, once.
func (a *accepting) close() {
	if a.closing.CompareAndSwap(false, true) {
		a.l.Enqueue(&a.end)
	}
}

// taken counts a connection that Accept has taken, and grants credit for more now and then.
func (a *accepting) taken() {
	if a.given.Add(1) == acceptCredit/2 {
		a.l.Enqueue(&a.grant)
	}
}

type acceptBegin accepting

func (w *acceptBegin) Run() {
	a := (*accepting)(w)
	a.s.AcceptMany(acceptCredit).Connect(&a.op, a)
	a.op.Start()
}

func (w *acceptBegin) Abandon(error) { (*accepting)(w).over() }

type acceptGrant accepting

func (w *acceptGrant) Run() {
	if n := w.given.Swap(0); !w.ended {
		w.op.Grant(int(n))
	}
}

func (w *acceptGrant) Abandon(error) {}

type acceptEnd accepting

func (w *acceptEnd) Run() {
	w.s.Close().Connect(&w.closeOp, (*acceptClosed)(w))
	w.closeOp.Start()
}

// Abandon closes the descriptor, because the loop has ended.
func (w *acceptEnd) Abandon(error) { unix.Close(w.s.Fd()) }

// acceptClosed is the receiver of the close of its listener.
type acceptClosed accepting

func (*acceptClosed) SetValue(struct{}) {}
func (*acceptClosed) SetError(error)    {}
func (*acceptClosed) SetStopped()       {}
func (*acceptClosed) Env() sender.Env   { return sender.EmptyEnv{} }

// SetNext takes a connection. There is room for it in the channel, because there was credit.
func (a *accepting) SetNext(fd int) {
	l := a.l
	if len(a.ln.parts) < len(a.ln.loops) {
		l = a.ln.loops[int(a.ln.next.Add(1)-1)%len(a.ln.loops)]
	}
	c := newStream(l, fd, a.kind)
	if c.from = a; l == a.l {
		c.open()
	} else {
		c.l.Enqueue(&c.opening)
	}
	a.ln.conns <- c
	select {
	case <-a.ln.closed:
		a.ln.drop()
	default:
	}
}

func (a *accepting) SetValue(struct{}) { a.over() }
func (a *accepting) SetError(error)    { a.over() }
func (a *accepting) SetStopped()       { a.over() }
func (a *accepting) Env() sender.Env   { return sender.EmptyEnv{} }

// over ends the part, which accepts no more: after Close, an error, or because the loop drains or has ended. The others
// go on.
func (a *accepting) over() {
	a.ended = true
	a.close()
	if a.ln.left.Add(-1) == 0 {
		_ = a.ln.Close()
	}
}
