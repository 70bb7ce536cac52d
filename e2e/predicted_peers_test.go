package e2e

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// A request and an answer are a header and bytes that follow from it, so that each side can tell whether they are those
// that were sent.
const (
	frameMagic  = 0x51ea5a51 // not the beginning of a health check
	frameHeader = 20
)

type frame struct {
	client, number uint32
	length         uint32 // of the bytes behind the header
	answer         uint32 // of a request: length of the answer
}

var errChanged = errors.New("bytes have changed on the way")

func (f *frame) byteAt(i uint32) byte { return byte(f.client*31 + f.number*7 + i) }

func (f *frame) send(w io.Writer) error {
	var b []byte
	for _, v := range []uint32{frameMagic, f.client, f.number, f.length, f.answer} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	for i := range f.length {
		b = append(b, f.byteAt(i))
	}
	_, err := w.Write(b)
	return err
}

func readFrame(r io.Reader) (f frame, err error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return f, err
	}
	field := func(i int) uint32 { return binary.BigEndian.Uint32(header[4*i:]) }
	if field(0) != frameMagic {
		return f, errChanged
	}
	f = frame{field(1), field(2), field(3), field(4)}
	b := make([]byte, f.length)
	if _, err := io.ReadFull(r, b); err != nil {
		return f, err
	}
	for i, c := range b {
		if c != f.byteAt(uint32(i)) {
			return f, errChanged
		}
	}
	return f, nil
}

// about draws a time whose mean is d: half of it, and as much on average of what comes at random.
func about(d time.Duration) time.Duration {
	return d/2 + time.Duration(rand.ExpFloat64()*float64(d)/2)
}

// guests are clients of a kind: those of a scenario.
type guests struct {
	Name      string
	From      string
	Rate      float64
	Exchanges int
	Pause     time.Duration
	Request   uint32
	Response  uint32
	Patience  time.Duration
	Latency   time.Duration // it is 0: there is none here
}

// crowd is the clients of all kinds.
type crowd struct {
	s        *stage
	dials    chan func() // for threads in the clients' namespace
	came     atomic.Uint32
	mu       sync.Mutex
	outcomes map[string]int
}

// come lets clients of a kind come at random times.
func (w *crowd) come(ctx context.Context, g *guests, begin time.Time) {
	network := netip.MustParsePrefix(g.From)
	for at := time.Duration(0); ; {
		at += time.Duration(rand.ExpFloat64() / g.Rate * float64(time.Second))
		if at >= w.s.scenario.Duration {
			return
		}
		select {
		case <-time.After(time.Until(begin.Add(at))):
		case <-ctx.Done():
			return
		}
		id := w.came.Add(1)
		w.s.guests.Go(func() {
			outcome := w.visit(g, drawFrom(network), id)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.outcomes[outcome]++
		})
	}
}

// visit is a client. It returns what has become of it.
func (w *crowd) visit(g *guests, from netip.Addr, id uint32) (outcome string) {
	c, err := w.connect(from, g.Patience)
	answers := 0
	if err == nil {
		defer c.Close()
		answers, err = g.talk(c, id)
	}
	switch {
	case err == nil:
		return "answered"
	case c != nil:
		_ = c.SetLinger(0)
	}
	switch {
	case timedOut(err):
		return "late"
	case errors.Is(err, errChanged):
		return "changed"
	case answers == g.Exchanges: // it has all its answers
		return "answered"
	case answers > 0:
		return "broken"
	}
	return "refused"
}

func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// dialers is how many threads open the clients' sockets. To move a thread for each is slow.
const dialers = 4

func newCrowd(s *stage) *crowd {
	w := &crowd{s: s, dials: make(chan func()), outcomes: map[string]int{}}
	for range dialers {
		s.serving.Go(func() {
			if err := within(s.t, s.clients, func() error {
				for dial := range w.dials {
					dial()
				}
				return nil
			}); err != nil {
				s.t.Error(err)
			}
		})
	}
	return w
}

// connect connects a client to the proxy.
func (w *crowd) connect(from netip.Addr, patience time.Duration) (c *net.TCPConn, err error) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), Timeout: patience}
	done := make(chan struct{})
	w.dials <- func() {
		defer close(done)
		var dialed net.Conn
		if dialed, err = d.Dial("tcp", stageAddress); err == nil {
			c = dialed.(*net.TCPConn)
		}
	}
	<-done
	return c, err
}

// talk sends requests, each some time after the answer to the one before, and then ends the stream.
func (g *guests) talk(c *net.TCPConn, id uint32) (answers int, err error) {
	r := bufio.NewReader(c)
	for answers < g.Exchanges {
		if answers > 0 {
			if err := nothing(c, r, about(g.Pause)); !timedOut(err) {
				return answers, err
			}
		}
		if err := c.SetDeadline(time.Now().Add(g.Patience)); err != nil {
			return answers, err
		}
		asked := frame{id, uint32(answers + 1), g.Request, g.Response}
		if err := asked.send(c); err != nil {
			return answers, err
		}
		got, err := readFrame(r)
		if err != nil {
			return answers, err
		}
		if got.client != id || got.number != asked.number || got.length != g.Response {
			return answers, errChanged
		}
		answers++
	}
	if err := c.CloseWrite(); err != nil {
		return answers, err
	}
	if err := nothing(c, r, g.Patience); !errors.Is(err, io.EOF) {
		return answers, err
	}
	return answers, nil
}

// nothing waits for a time in which no byte comes. It returns why it has not waited for longer.
func nothing(c *net.TCPConn, r *bufio.Reader, d time.Duration) error {
	if err := c.SetReadDeadline(time.Now().Add(d)); err != nil {
		return err
	}
	if _, err := r.Peek(1); err != nil {
		return err
	}
	return errChanged
}

// checkTexts is what a health check sends and expects.
type checkTexts struct{ Send, Expect string }

// actor is a server that does what a scenario says.
type actor struct {
	s                *stage
	backend, address string
	check            checkTexts
	latency          time.Duration
	clients          atomic.Int64 // connections that have sent a request, so far
	hangs            bool

	mu    sync.Mutex
	l     *net.TCPListener // nil: it refuses connections
	conns map[*net.TCPConn]bool
}

// become changes what the server does.
func (a *actor) become(mode string) {
	a.s.t.Helper()
	if hangs := mode == "hang"; hangs != a.hangs {
		a.s.lose(hangs, a)
		a.hangs = hangs
	}
	switch mode {
	case "refuse":
		a.leave()
	case "work", "hang":
		a.listen()
	default:
		a.s.t.Fatalf("a server cannot %s here", mode)
	}
}

// listen accepts connections from now on.
func (a *actor) listen() {
	a.s.t.Helper()
	a.mu.Lock()
	listens := a.l != nil
	a.mu.Unlock()
	if listens {
		return
	}
	l := a.s.listen(a.s.t, a.address)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.l = l
	a.s.serving.Go(func() {
		for {
			c, err := l.AcceptTCP()
			if err != nil {
				return
			}
			a.s.serving.Go(func() { a.serve(l, c) })
		}
	})
}

// leave closes the listener, and resets all connections: the process has died.
func (a *actor) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.l != nil {
		a.l.Close()
		a.l = nil
	}
	for c := range a.conns {
		_ = c.SetLinger(0)
		c.Close()
	}
}

// serve answers the requests of a connection that the listener has accepted.
func (a *actor) serve(l *net.TCPListener, c *net.TCPConn) {
	defer c.Close()
	if !a.enter(l, c) {
		_ = c.SetLinger(0)
		return
	}
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.conns, c)
	}()
	r := bufio.NewReader(c)
	for first := true; ; {
		begins, err := r.Peek(4)
		if err != nil {
			return
		}
		if binary.BigEndian.Uint32(begins) != frameMagic {
			if !a.answerCheck(r, c) {
				return
			}
			continue
		}
		if first {
			a.clients.Add(1)
			first = false
		}
		asked, err := readFrame(r)
		if errors.Is(err, errChanged) {
			_ = c.SetLinger(0)
		}
		if err != nil {
			return
		}
		time.Sleep(about(a.latency))
		answer := frame{asked.client, asked.number, asked.answer, 0}
		if answer.send(c) != nil {
			return
		}
	}
}

// enter notes a connection, unless its listener is closed.
func (a *actor) enter(l *net.TCPListener, c *net.TCPConn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.l != l {
		return false
	}
	a.conns[c] = true
	return true
}

// answerCheck answers a health check.
func (a *actor) answerCheck(r io.Reader, w io.Writer) bool {
	text := make([]byte, len(a.check.Send))
	if _, err := io.ReadFull(r, text); err != nil || len(text) == 0 || string(text) != a.check.Send {
		return false
	}
	_, err := io.WriteString(w, a.check.Expect)
	return err == nil
}
