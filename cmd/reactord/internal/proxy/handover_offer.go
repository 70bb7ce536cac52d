package proxy

import (
	"errors"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy/handover"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
)

// offers offers the connections of a loop to another process, over one socket, a batch at a time. Its states:
//
//	sending             it begins with an empty frame: can the other process read it?
//	walking → joining   some connections, or UDP sessions, come to rest
//	walking → sending   all sessions were visited: the other process hears of it
//	joining → sending   all of them do, or restTime has passed
//	joining → walking   none of them does
//	sending → awaiting  the frame is sent
//	awaiting → walking  the answer is there
//	awaiting → sending  it is, and some that it takes were to be reset meanwhile
//	walking → resting   all were visited
//	resting → walking   the timer
//	any → ended         the other process, or this one, ends
type offers struct {
	walk
	socket   reactor.Socket
	state    offersState
	members  *memberList // that are visited
	told     bool        // the other process knows that all sessions were visited
	patience int64       // until when it hears that later, if some are on their way
	to       int         // index of the other process's loop
	loops    int         // that it has
	batch    []*leaving  // in the order of the frame
	joins    int         // of them, that have not come to rest
	grace    int         // turns that they still get when restTime has passed
	timer    reactor.Timer
	again    time.Duration // between two visits of all connections
	picked   int           // in this visit
	stays    [stayReasonCount]int
	counted  [stayReasonCount]int // in handovers.staying
	refused  map[uint64]bool      // connections that the other process does not take, by id

	ends    []handover.End // that were to be reset while the other process was about to take them
	frame   []byte
	send    reactor.SendFDsOp
	recv    reactor.RecvOp
	in      [1 << 10]byte
	answer  []byte
	closing reactor.CloseOp
}

type offersState uint8

const (
	offersWalking offersState = iota
	offersJoining
	offersSending
	offersAwaiting
	offersResting
	offersEnded
)

const (
	// offerBatch bounds the connections of a batch: with both of its kernel pipes a connection has six descriptors, and
	// one message carries 253.
	offerBatch = 32
	// offerBytes ends a batch that has so many unsent bytes.
	offerBytes = 1 << 20
	// restTime bounds how long those of a batch that are at rest wait for the others.
	restTime = 5 * time.Millisecond
	// graceTurns is how many turns of the loop it is at least: those of a busy loop may take longer than restTime.
	graceTurns = 2
	// answerTime bounds how long a process that resets its connections waits for the other one, which may be stopped.
	answerTime = time.Second
	// Between two visits of all connections: for those that can rest only later.
	firstAgain = 10 * time.Millisecond
	lastAgain  = time.Second
)

// beginOffers begins to offer the connections of the loop. An empty frame comes first, so that no connection rests
// while it turns out whether the other process reads frames, and while code is run for the first time.
func (w *worker) beginOffers(fd, to, loops int) {
	o := &offers{again: firstAgain, to: to, loops: loops, patience: w.loop.Now() + sessionsTime/2}
	o.worker = w
	o.socket.InitStream(w.loop, fd)
	o.timer.Init(o)
	w.walks = append(w.walks, &o.walk)
	for _, other := range w.offers {
		other.count([stayReasonCount]int{}) // the newest one counts what stays
	}
	w.offers = append(w.offers, o)
	o.begin()
	o.receive()
	o.told = w.sessions.Empty()
	o.sendFrame(&handover.Frame{NoMoreSessions: o.told}, nil)
}

// begin begins to visit all that may move, sessions first: clients' datagrams wait for them.
func (o *offers) begin() {
	o.state, o.picked, o.stays = offersWalking, 0, [stayReasonCount]int{}
	o.members, o.next = sessionMembers, o.worker.sessions.First()
}

// collect brings some connections to rest.
func (o *offers) collect() {
	o.batch = o.batch[:0]
	if o.worker.receivesDatagrams() {
		o.setTimer(nextTurn) // it has stopped then
		return
	}
	for visited := 0; o.next != nil && len(o.batch) < offerBatch; visited++ {
		if visited == walkBatch {
			o.setTimer(nextTurn) // it continues
			break
		}
		m := o.members.of(o.next).(movable)
		o.next = o.next.Next()
		if m.over() {
			continue
		}
		a := m.common()
		if x, ok := m.(*session); ok && x.Socket()%o.loops != o.to {
			continue // another loop of the other process has its socket
		}
		switch why, can := m.canRest(); {
		case !can:
			o.stays[why]++
		case o.refused[a.id]:
			o.stays[staysRefused]++
		default:
			m.comeToRest(o)
			o.batch = append(o.batch, a.leaving)
		}
	}
	switch {
	case len(o.batch) != 0:
		o.picked += len(o.batch)
		o.state, o.joins = offersJoining, len(o.batch)
		o.grace = graceTurns
		o.setTimer(restTime)
	case o.next != nil:
	case o.members == sessionMembers:
		o.visitConns()
	default:
		o.visited()
	}
}

// visitConns goes on with the connections. The other process hears that the sessions have come; but first those are
// visited again that are on their way, for patience at most: the next datagram of their client would begin another one.
func (o *offers) visitConns() {
	if l := o.worker.loop; !o.told && o.stays[staysSetup]+o.stays[staysBusy] != 0 && l.Now() < o.patience {
		o.stays = [stayReasonCount]int{}
		o.next = o.worker.sessions.First()
		l.SetTimer(&o.timer, l.Now()+int64(time.Millisecond))
		return
	}
	o.members, o.next = connMembers, o.worker.conns.First()
	if o.told {
		o.collect()
		return
	}
	o.told = true
	o.sendFrame(&handover.Frame{NoMoreSessions: true}, nil)
}

// visited ends a visit of all connections. The next one is soon if this one has offered some.
func (o *offers) visited() {
	if o.newest() {
		o.count(o.stays)
	}
	if o.again = min(2*o.again, lastAgain); o.picked != 0 {
		o.again = firstAgain
	}
	o.state = offersResting
	o.setTimer(o.again)
}

// newest reports whether the worker has begun no other ones since: those before may be to a process that was itself
// replaced.
func (o *offers) newest() bool {
	all := o.worker.offers
	return all[len(all)-1] == o
}

// count makes stays what it counts of what stays.
func (o *offers) count(stays [stayReasonCount]int) {
	for why, n := range stays {
		o.worker.proxy.handovers.staying[why].Add(int64(n - o.counted[why]))
	}
	o.counted = stays
}

func (o *offers) setTimer(in time.Duration) {
	l := o.worker.loop
	l.SetTimer(&o.timer, l.Now()+int64(in))
}

// OnTimer visits all again; sends the batch without those that do not come to rest; or waits for the other process no
// longer: see close.
func (o *offers) OnTimer(int64) {
	switch o.state {
	case offersResting:
		o.begin()
		o.collect()
	case offersWalking:
		o.collect()
	case offersSending, offersAwaiting:
		o.end(errEnds)
	case offersJoining:
		if o.grace != 0 {
			o.grace--
			o.setTimer(nextTurn)
			return
		}
		o.batch = slices.DeleteFunc(o.batch, func(h *leaving) bool {
			late := h.state == leavingJoins
			if late {
				h.batch = nil // it is carried on
				o.joins--
				o.stays[staysBusy]++
			}
			return late
		})
		o.joinedAll()
	}
}

// joined notes that a connection of the batch rests, or was closed before.
func (o *offers) joined() {
	if o.joins--; o.joins == 0 {
		o.joinedAll()
	}
}

// forget takes a connection out of the batch: it is closed.
func (o *offers) forget(h *leaving) {
	o.batch = slices.DeleteFunc(o.batch, func(other *leaving) bool { return other == h })
	if h.state == leavingJoins {
		o.joined()
	}
}

// joinedAll offers what is at rest.
func (o *offers) joinedAll() {
	o.worker.loop.StopTimer(&o.timer)
	if len(o.batch) == 0 {
		o.state = offersWalking
		o.setTimer(nextTurn)
		return
	}
	o.offer()
}

// offer sends the batch.
func (o *offers) offer() {
	var f handover.Frame
	var fds []int
	for i, h := range o.batch {
		if len(f.Unsent) > offerBytes {
			o.carryOn(i)
			break
		}
		r, own, unsent := h.of.record()
		f.Records, fds = append(f.Records, r), append(fds, own...)
		for from := range unsent {
			f.Unsent = append(f.Unsent, unsent[from]...)
		}
		h.state = leavingOffered
	}
	o.sendFrame(&f, fds)
	for i := range f.Records {
		f.Records[i].Wipe()
	}
}

// sendFrame sends a frame, with the descriptors of its connections.
func (o *offers) sendFrame(f *handover.Frame, fds []int) {
	var err error
	if o.frame, err = f.Append(o.frame[:0]); err != nil {
		o.end(err)
		return
	}
	o.state = offersSending
	o.socket.SendFDs(o.frame, fds).Connect(&o.send, o)
	o.send.Start()
}

// carryOn lets the connections of the batch from an index on flow here.
func (o *offers) carryOn(from int) {
	left := o.batch[from:]
	o.batch = o.batch[:from:from]
	for _, h := range left {
		h.batch = nil
		h.of.carryOn()
	}
}

// SetValue awaits the answer, now that the frame is sent.
func (o *offers) SetValue(n int) {
	whole := n == len(o.frame)
	o.dropFrame()
	switch {
	case o.state != offersSending:
	case !whole:
		o.end(errEnds)
	default:
		o.state = offersAwaiting
		o.answered() // it may be there already
	}
}

// SetError ends the offers: the other process has ended.
func (o *offers) SetError(err error) {
	o.dropFrame()
	o.end(err)
}

// SetStopped ends the offers: the loop is stopping.
func (o *offers) SetStopped() {
	o.dropFrame()
	o.end(errEnds)
}

// dropFrame forgets the frame, which may have secrets, now that nothing sends it.
func (o *offers) dropFrame() {
	clear(o.frame)
	o.frame = o.frame[:0]
}

// Env returns an empty environment.
func (o *offers) Env() sender.Env { return sender.EmptyEnv{} }

func (o *offers) receive() {
	o.socket.Recv(o.in[:]).Connect(&o.recv, (*offerAnswers)(o))
	o.recv.Start()
}

// offerAnswers is offers as the receiver of answers.
type offerAnswers offers

// SetValue takes a part of an answer.
func (a *offerAnswers) SetValue(n int) {
	o := (*offers)(a)
	if o.state == offersEnded {
		return
	}
	if n == 0 {
		o.end(errProcessEnded)
		return
	}
	o.answer = append(o.answer, o.in[:n]...)
	o.recv.Start()
	o.answered()
}

// SetError ends the offers: the other process has ended.
func (a *offerAnswers) SetError(err error) { (*offers)(a).end(err) }

// SetStopped ends the offers: the loop is stopping.
func (a *offerAnswers) SetStopped() { (*offers)(a).end(errEnds) }

// Env returns an empty environment.
func (a *offerAnswers) Env() sender.Env { return sender.EmptyEnv{} }

// answered does what a whole answer says.
func (o *offers) answered() {
	if o.state != offersAwaiting {
		return
	}
	a, ok, err := handover.DecodeAnswer(o.answer)
	if err != nil {
		o.resetBatch() // which process has these is not known
		o.end(err)
	}
	if !ok || err != nil {
		return
	}
	o.answer = o.answer[:0]
	batch := o.batch
	o.batch = nil
	for i, h := range batch {
		m, why := h.of, a.Refused[i]
		if why == "" && a.Error == "" {
			o.worker.proxy.handovers.moved.Add(1)
			if h.ends {
				o.ends = append(o.ends, handover.End{ID: m.common().id, By: closeReasons[h.why].By})
			}
			m.leave()
			continue
		}
		if a.Error == "" {
			o.refuse(m, why)
		}
		h.batch = nil
		m.carryOn()
	}
	if a.Error != "" {
		o.end(&refusedError{a.Error})
		return
	}
	if o.worker.state == workerClosed {
		o.end(errEnds)
		return
	}
	o.state = offersWalking
	if ends := o.ends; len(ends) != 0 {
		o.ends = nil
		o.sendFrame(&handover.Frame{Ends: ends}, nil)
		return
	}
	o.collect()
}

// refuse remembers a connection that the other process does not take.
func (o *offers) refuse(m movable, why string) {
	if o.refused == nil {
		o.refused = map[uint64]bool{}
	}
	a := m.common()
	o.refused[a.id] = true
	if entry := a.debug("the new process does not take a connection"); entry != nil {
		entry.Write(names(m), zap.String("why", why))
	}
}

// resetBatch resets the connections of the batch.
func (o *offers) resetBatch() {
	batch := o.batch
	o.batch = nil
	for _, h := range batch {
		h.batch = nil
		_ = h.postponed(reasonInternal, bothSides)
		h.of.carryOn()
	}
}

// close ends the offers, because this process resets its connections. Those that the other process may have wait for
// its answer, for answerTime at most.
func (o *offers) close() {
	if o.state != offersSending && o.state != offersAwaiting {
		o.end(errEnds)
		return
	}
	o.setTimer(answerTime)
}

// end ends the offers. What is at rest is carried on, unless the other process may have it: then its copies are closed
// if this process ends.
func (o *offers) end(why error) {
	if o.state == offersEnded {
		return
	}
	w := o.worker
	if why != errEnds && o.newest() { //nolint:errorlint // it is bare
		w.proxy.log.Warn("the new process takes no more connections", zap.Error(why))
	}
	sent := o.state == offersAwaiting
	o.state = offersEnded
	w.loop.StopTimer(&o.timer)
	w.walks = slices.DeleteFunc(w.walks, func(k *walk) bool { return k == &o.walk })
	w.offers = slices.DeleteFunc(w.offers, func(other *offers) bool { return other == o })
	o.count([stayReasonCount]int{})
	o.next = nil
	batch := o.batch
	o.batch = nil
	for _, h := range batch {
		h.batch = nil
		switch {
		case h.state == leavingJoins: // it is carried on when it rests
		case sent && why == errEnds: //nolint:errorlint // it is bare
			h.of.leave()
		default:
			h.of.carryOn()
		}
	}
	o.socket.Close().Connect(&o.closing, ignored{})
	o.closing.Start()
}

var errProcessEnded = errors.New("it has ended")

// ignored is a receiver of something that nobody waits for.
type ignored struct{}

func (ignored) SetValue(struct{}) {}
func (ignored) SetError(error)    {}
func (ignored) SetStopped()       {}
func (ignored) Env() sender.Env   { return sender.EmptyEnv{} }

// refusedError is why another process takes no connections.
type refusedError struct{ why string }

func (e *refusedError) Error() string { return e.why }
