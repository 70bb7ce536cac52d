package xds

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/ads"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/xds/stream"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// Config is what a [Client] works with.
type Config struct {
	// Settings are those of the configuration.
	Settings Settings
	// Node and Servers are in place of what Settings say, if they are not zero.
	Node    *corepb.Node
	Servers []stream.Server
	// Transport changes the settings of the transport; nil: they are as Settings say.
	Transport func(*stream.Config)
	// Apply puts a part of the plan in force, and returns when it is, or the errors of items as [plan.ControlErrors]
	// reads them.
	Apply func(context.Context, *plan.Control) error
	// Ready is told, on the client's goroutine, the listeners that the process answers itself: those by which a control
	// plane's platform asks whether it is ready. It does not block. May be nil.
	Ready func([]ReadyListener)
	// Connect keeps a stream open: see [stream.Run]. nil: that, to the servers of Settings.
	Connect func(ctx context.Context, report func(stream.State), session func(Stream) error)
	Log     *zap.Logger

	language language       // nil: that of Envoy
	random   func() float64 // in [0, 1); nil: that of package rand
}

// Stream is an open stream to a control plane. *[stream.Stream] is one.
type Stream interface {
	Server() string
	Send(proto.Message) error
	Recv(proto.Message) error
}

// Client has the plan say what a control plane says. Its methods may be called from any goroutine.
type Client struct {
	cfg    Config
	log    *zap.Logger
	events chan event
	wake   chan struct{} // has room for one

	notices notices

	end   context.CancelFunc
	done  <-chan struct{} // closed by Close
	ended sync.WaitGroup

	mu       sync.Mutex // guards what follows, but while a plan is applied
	book     *book
	machine  *ads.Machine
	sendable chan struct{} // of the stream; has room for one; nil: there is no stream
	pending  []*ads.Update // they wait for the plan, and then for their answers
	planAt   time.Time     // zero: nothing waits for the plan
	again    time.Time     // when to choose again; zero: not by itself
	retryAt  time.Time     // when what is refused beside others is tried again; zero: nothing is
	settled  bool          // a part of the plan is in force, or there was time for it
	settleAt time.Time     // when it is settled at the latest, once listeners were received; zero: it is not known
	first    chan struct{} // closed when settled
	status   notes
	saver    saver
}

// event is something that a stream has for the client's goroutine.
type event struct {
	response *ads.Response
	done     chan error // told when the next one may come
}

// retryInterval is how often what is refused beside others is tried again by itself: an address may be free now.
const retryInterval = 10 * time.Second

// New is a client that holds nothing, or what was in the last good file: see [Client.Restored]. [Client.Start] starts
// it.
func New(cfg Config) *Client {
	if cfg.language == nil {
		cfg.language = envoy{}
	}
	if cfg.random == nil {
		cfg.random = rand.Float64
	}
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	s := &cfg.Settings
	if cfg.Node == nil {
		cfg.Node = s.node()
	}
	c := &Client{
		cfg: cfg, log: cfg.Log, events: make(chan event), wake: make(chan struct{}, 1), first: make(chan struct{}),
		book:    newBook(cfg.language, rules{s.HoldBack, s.HoldBackPercent, s.InitialFetchTimeout}),
		machine: ads.New(ads.Config{Node: cfg.Node}),
	}
	c.status.began = time.Now()
	c.saver.path = s.LastGood
	return c
}

// Start connects, and has the plan follow the control plane until [Client.Close].
func (c *Client) Start() {
	ctx, end := context.WithCancel(context.Background())
	c.end, c.done = end, ctx.Done()
	now := time.Now()
	c.mu.Lock()
	for _, k := range []kind{clusters, listeners} {
		c.machine.Want(now, types[k], []string{ads.Wildcard})
	}
	c.want(now)
	c.mu.Unlock()
	c.ended.Go(func() { c.run(ctx) })
	c.ended.Go(func() { c.connect(ctx) })
	c.ended.Go(func() { c.settle(ctx) })
}

// Close ends the client. What is in force stays so.
func (c *Client) Close() {
	if c.end == nil {
		return
	}
	c.end()
	c.ended.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.save(time.Now(), true)
}

// Leave has [Client.Close] not write the last good file: another process does that.
func (c *Client) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saver.path = ""
}

// Settled is closed when the first part of the plan is in force, or has taken longer than the settings say.
func (c *Client) Settled() <-chan struct{} { return c.first }

func (c *Client) settle(ctx context.Context) {
	if c.cfg.Settings.InitialFetchTimeout == 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-c.first:
	case <-time.After(c.cfg.Settings.InitialFetchTimeout):
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.settled {
			c.log.Warn("xds: nothing was received within initial_fetch_timeout")
			c.isSettled()
		}
	}
}

// isSettled is called with the lock.
func (c *Client) isSettled() {
	if !c.settled {
		c.settled = true
		close(c.first)
	}
}

// notices is what the planner has said since the client has looked.
type notices struct {
	mu    sync.Mutex
	left  []*plan.ControlError
	again bool
}

// Again has the client try again what the plan has refused: the file has changed. It does not block.
func (c *Client) Again() {
	c.notices.mu.Lock()
	c.notices.again = true
	c.notices.mu.Unlock()
	c.poke()
}

// LeftOut takes what of the part of the plan is not in force any more, since the file has no room for it. It does not
// block.
func (c *Client) LeftOut(wrong []*plan.ControlError) {
	c.notices.mu.Lock()
	c.notices.left = append(c.notices.left, wrong...)
	c.notices.mu.Unlock()
	c.poke()
}

// notice takes what the planner has said. It is called with the lock.
func (c *Client) notice(now time.Time) {
	c.notices.mu.Lock()
	left, again := c.notices.left, c.notices.again
	c.notices.left, c.notices.again = nil, false
	c.notices.mu.Unlock()
	for _, item := range left {
		c.book.leaveOut(item)
		c.planAt, c.retryAt = now, now.Add(retryInterval)
	}
	if again {
		c.retryAt = now
	}
}

func (c *Client) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// connect keeps a stream open.
func (c *Client) connect(ctx context.Context) {
	if c.cfg.Connect != nil {
		c.cfg.Connect(ctx, c.report, c.session)
		return
	}
	transport := c.cfg.Settings.stream(c.report)
	if c.cfg.Servers != nil {
		transport.Servers = c.cfg.Servers
	}
	if c.cfg.Transport != nil {
		c.cfg.Transport(&transport)
	}
	stream.Run(ctx, transport, func(s *stream.Stream) error { return c.session(s) })
}

// run is the client's goroutine.
func (c *Client) run(ctx context.Context) {
	for {
		c.mu.Lock()
		wait := c.wait(time.Now())
		c.mu.Unlock()
		var timer <-chan time.Time
		if wait >= 0 {
			timer = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case e := <-c.events:
			e.done <- c.receive(ctx, e.response)
		case <-c.wake:
		case <-timer:
		}
		c.tick(ctx)
	}
}

// wait is how long nothing is to be done; less than 0: for ever.
func (c *Client) wait(now time.Time) time.Duration {
	var next time.Time
	for _, at := range []time.Time{c.planAt, c.again, c.retryAt, c.settleAt, c.machine.Wake(), c.saver.at} {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if next.IsZero() {
		return -1
	}
	return max(next.Sub(now), 0)
}

// receive takes a response.
func (c *Client) receive(ctx context.Context, response *ads.Response) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	u, err := c.machine.Receive(now, response)
	if errors.Is(err, ads.ErrUnanswered) { // what waits is put in force first
		c.plan(ctx)
		now = time.Now()
		u, err = c.machine.Receive(now, response)
	}
	switch {
	case errors.Is(err, ads.ErrNonce), errors.Is(err, ads.ErrUnanswered):
		// A response that is left out would be missing for ever: the server believes it to be known.
		return err
	case err != nil:
		c.log.Debug("xds: a response is ignored", zap.Error(err))
		return nil
	}
	c.status.pushed(u, now)
	c.take(u, now)
	c.pending = append(c.pending, u)
	c.gather(now)
	return nil
}

// take takes what was said, and asks for what that needs.
func (c *Client) take(u *ads.Update, now time.Time) {
	if c.book.take(u, now) {
		if k, _ := kindOf(u.Type); k != endpoints {
			c.book.retry() // what was wrong beside others may be right now
		}
	}
	c.want(now)
}

// want asks for what is needed.
func (c *Client) want(now time.Time) {
	for _, k := range []kind{endpoints, secrets} {
		c.machine.Want(now, types[k], c.book.wanted(k))
	}
	c.send()
}

// gather has the plan wait a moment for what else is said.
func (c *Client) gather(now time.Time) {
	if c.planAt.IsZero() {
		g := c.cfg.Settings.Gather
		c.planAt = now.Add(g + time.Duration(float64(g)*c.cfg.random()/2))
	}
}

// tick does what it is time for.
func (c *Client) tick(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.notice(now)
	due := func(at time.Time) bool { return !at.IsZero() && !now.Before(at) }
	for _, u := range c.machine.Tick(now) {
		c.take(u, now)
		c.gather(now)
	}
	if due(c.retryAt) {
		c.retryAt = time.Time{}
		if c.book.retry() {
			c.planAt = now
		}
	}
	if due(c.planAt) || due(c.again) {
		c.plan(ctx)
	}
	if due(c.settleAt) {
		c.settles(now)
	}
	c.save(time.Now(), false)
	c.send()
}
