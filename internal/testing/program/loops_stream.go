package program

import (
	"errors"
	"math"
	"net"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"github.com/reactord/reactord/sender/task"
)

// stream is a connection that echoes on one loop after the other. On each loop it stays for a leg: for a number of
// receives, or until it is asked to stop. When a leg ends, all that was received has been sent back.
type stream struct {
	*cluster
	loop    *reactor.Loop // where it is
	counted *reactor.Loop // where the balancer counts it, or nil
	socket  *reactor.Socket
	source  *stop.Source // of the leg
	flow    *flow        // the leg, if it is one of these
	move    reactor.MoveOp
	close   reactor.CloseOp
	to      *reactor.Socket // where it moves
	dest    *reactor.Loop
	eof     bool // the peer has ended
	broken  bool // not all could be sent back
	moving  bool
	closing bool
	gone    bool
}

func newStream(c *cluster, l *reactor.Loop, fd int) {
	s := &stream{cluster: c, loop: l, counted: l, socket: new(reactor.Socket)}
	c.streams = append(c.streams, s)
	s.socket.Init(l, fd)
	s.begin()
}

// begin starts a leg.
func (s *stream) begin() {
	if s.k.Rand().IntN(2) == 0 {
		newFlow(s)
		return
	}
	j := launch(s.k, s.loop, s.talk, func(*taskRun) { s.end() })
	s.source = j.source
}

// talk runs a leg as a task. It can be stopped while it receives.
func (s *stream) talk(t *task.T) error {
	leased := s.k.Rand().IntN(2) == 0
	for range 1 + s.k.Rand().IntN(10) {
		if err := s.turn(t, leased); stopped(err) {
			return err
		} else if err != nil {
			s.broken = true
		}
		if s.eof || s.broken {
			return nil
		}
	}
	return nil
}

// turn receives once, and sends the bytes back.
func (s *stream) turn(t *task.T, leased bool) error {
	buf := make([]byte, 1+s.k.Rand().IntN(1024))
	if leased {
		lease, err := task.Await(t, s.socket.RecvLease())
		if err != nil {
			return err
		}
		defer lease.Release()
		buf = lease.Bytes()
	} else {
		n, err := task.Await(t, s.socket.Recv(buf))
		if err != nil {
			return err
		}
		buf = buf[:n]
	}
	if s.eof = len(buf) == 0; s.eof {
		return nil
	}
	task.Unstoppable(t, func() {
		n, err := 0, error(nil)
		if s.k.Rand().IntN(2) == 0 {
			n, err = task.Await(t, s.socket.SendZC(buf))
		} else {
			n, err = task.Await(t, s.socket.SendAll(buf))
		}
		s.broken = err != nil || n < len(buf)
	})
	return nil
}

// end moves the connection to another loop after a leg, or closes it after EOF or an error.
func (s *stream) end() {
	s.on(s.loop, "the end of a leg")
	if s.flow = nil; s.eof || s.broken {
		s.finish()
		return
	}
	s.depart()
}

// depart moves the connection to one of the loops. If the move fails, the connection is reset. Sometimes it is closed
// during the move.
func (s *stream) depart() {
	if err := s.socket.SetAbort(); err != nil {
		s.k.Errorf("a connection that is to move: %v", err)
	}
	s.moving, s.dest, s.to = true, s.any(), s.socket
	if s.k.Rand().IntN(2) == 0 {
		s.to = new(reactor.Socket)
	}
	s.socket.MoveTo(s.dest, s.to).Connect(&s.move, (*mover)(s))
	s.move.Start()
	if s.flow == nil && s.k.Rand().IntN(32) == 0 {
		s.broken = true
		s.finish()
	}
}

// finish closes the connection.
func (s *stream) finish() {
	if s.broken {
		_ = s.socket.SetAbort()
	}
	s.closing = true
	s.socket.Close().Connect(&s.close, (*finisher)(s))
	s.close.Start()
}

// leave releases the connection from the balancer.
func (s *stream) leave() {
	if s.counted != nil {
		s.balancing.changes++
		s.balancing.balancer.Release(s.counted)
		s.counted = nil
	}
}

// mover is a stream as the receiver of its moves.
type mover stream

func (m *mover) SetValue(struct{}) {
	s := (*stream)(m)
	s.on(s.dest, "a connection that has moved")
	if s.closing {
		s.k.Errorf("a connection has moved that is being closed")
	}
	if s.to.Loop() != s.dest {
		s.k.Errorf("a connection has moved to another loop than it was to")
	}
	s.leave()
	s.moving, s.loop, s.socket = false, s.dest, s.to
	if err := s.socket.SetLinger(-1); err != nil {
		s.k.Errorf("a connection that has moved: %v", err)
	}
	switch s.hops++; {
	case s.flow != nil: // which had ended by then
		s.flow.step()
	default:
		s.begin()
	}
}

func (m *mover) SetError(err error) {
	s := (*stream)(m)
	s.moving = false
	switch {
	case errors.Is(err, net.ErrClosed) && s.closing:
	case errors.Is(err, net.ErrClosed):
		if !s.stopping[s.index(s.dest)] {
			s.k.Errorf("a connection could not move to a loop that runs")
		}
		s.gone = true
		s.leave()
	case errors.Is(err, unix.EBUSY) && s.flow != nil:
		_ = s.socket.SetLinger(-1)
		s.source.RequestStop()
		s.flow.step()
	default:
		s.k.Errorf("moving: %v", err)
	}
}

// SetStopped finishes the stream on a loop that drains, which keeps the descriptor.
func (m *mover) SetStopped() {
	s := (*stream)(m)
	if !s.stopping[s.index(s.loop)] {
		s.k.Errorf("a move was stopped on a loop that runs")
	}
	s.moving = false
	if s.flow != nil {
		s.flow.step()
		return
	}
	s.broken = true
	s.finish()
}

func (m *mover) Env() sender.Env { return sender.EmptyEnv{} }

// finisher is a stream as the receiver of its close.
type finisher stream

func (f *finisher) SetValue(struct{})  { f.gone = true; (*stream)(f).leave() }
func (f *finisher) SetError(err error) { f.k.Errorf("close: %v", err) }
func (f *finisher) SetStopped()        { f.k.Errorf("a close was stopped") }
func (f *finisher) Env() sender.Env    { return sender.EmptyEnv{} }

// flow is a leg of a stream that receives with RecvMany.
type flow struct {
	sender.EmptyEnv
	*stream
	recv   reactor.RecvManyOp
	send   reactor.SendvOp
	queue  []reactor.Lease
	flying int  // how many of them are being sent
	items  int  // after which it has had enough
	room   int  // bytes that it may be given, by its credit
	done   bool // nothing more is received
}

func newFlow(s *stream) {
	rng := s.k.Rand()
	credit := 1 + rng.IntN(8)
	f := &flow{stream: s, items: 1 + rng.IntN(10), room: credit * s.loop.Buffers().Size()}
	s.flow, s.source = f, new(stop.Source)
	many := s.socket.RecvMany(credit)
	if rng.IntN(2) == 0 {
		many, f.room = many.Adaptive(), math.MaxInt/2 // an item of bulk may be worth more than there is credit for
	}
	many.Connect(&f.recv, f)
	s.socket.Sendv(nil).Connect(&f.send, (*flowSend)(f))
	f.recv.Start()
}

// Env returns the leg's stop token.
func (f *flow) Env() sender.Env       { return f }
func (f *flow) StopToken() stop.Token { return f.source.Token() }

func (f *flow) SetNext(l reactor.Lease) {
	if f.room -= l.Len(); f.room <= -f.loop.Buffers().Size() { // the last may begin within the limit, and end beyond
		f.k.Errorf("more is received than there is credit for, by %d bytes", -f.room)
	}
	if f.broken {
		l.Release()
		return
	}
	f.queue = append(f.queue, l)
	if f.flying == 0 {
		f.flush()
	}
	if f.items--; f.items > 0 || f.moving {
		return
	}
	if f.k.Rand().IntN(4) == 0 {
		f.depart() // too early: it fails with EBUSY
	} else {
		f.source.RequestStop()
	}
}

func (f *flow) SetValue(struct{}) { f.eof, f.done = true, true; f.step() }
func (f *flow) SetError(error)    { f.broken, f.done = true, true; f.step() }
func (f *flow) SetStopped()       { f.done = true; f.step() }

// step ends the leg when all is received and sent.
func (f *flow) step() {
	if f.done && f.flying == 0 && !f.moving {
		f.end()
	}
}

func (f *flow) flush() {
	f.flying = len(f.queue)
	f.send.Reset()
	for _, l := range f.queue {
		f.send.Add(l.Bytes())
	}
	f.send.Start()
}

// flowSend is a flow as the receiver of its sends, which are not stopped with it.
type flowSend flow

func (e *flowSend) SetValue(n int) {
	f := (*flow)(e)
	for _, l := range f.queue[:f.flying] {
		n -= l.Len()
	}
	granted := e.drop(f.flying)
	switch {
	case n < 0:
		e.fail()
		return
	case !f.done:
		f.room += granted * f.loop.Buffers().Size()
		f.recv.Grant(granted)
	}
	if len(f.queue) != 0 {
		f.flush()
		return
	}
	f.step()
}

func (e *flowSend) SetError(error) { e.fail() }
func (e *flowSend) SetStopped()    { e.fail() }

// drop releases the first n leases of the queue, and returns their credits.
func (e *flowSend) drop(n int) (credits int) {
	for _, l := range e.queue[:n] {
		credits += l.Credits()
		l.Release()
	}
	e.queue, e.flying = append(e.queue[:0], e.queue[n:]...), 0
	return credits
}

// fail ends the connection.
func (e *flowSend) fail() {
	f := (*flow)(e)
	e.drop(len(f.queue))
	f.broken = true
	f.source.RequestStop()
	f.step()
}

func (e *flowSend) Env() sender.Env { return sender.EmptyEnv{} }
