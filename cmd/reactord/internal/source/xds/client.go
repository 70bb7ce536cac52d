package xds

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/ads"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/stream"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// Config configures a [Client].
type Config struct {
	// Settings are those of the configuration.
	Settings Settings
	// Node and Servers replace those of Settings, if set.
	Node    *corepb.Node
	Servers []stream.Server
	// Transport modifies the settings of the transport. It may be nil.
	Transport func(*stream.Config)
	// Apply puts a part of the plan in force, and returns when that is done, or with errors of items as
	// [plan.ControlErrors] reads them.
	Apply func(context.Context, *plan.Control) error
	// Ready is called on the client's goroutine with the listeners that the process answers itself, by which a
	// control plane's platform probes whether it is ready. It must not block, and may be nil.
	Ready func([]ReadyListener)
	// Connect keeps a stream open: see [stream.Run]. nil means the servers of Settings.
	Connect func(ctx context.Context, report func(stream.State), session func(Stream) error)
	Log     *zap.Logger

	decoder decoder        // nil means that of Envoy
	random  func() float64 // in [0, 1); nil means package rand
}

// Stream is an open stream to a control plane, as *[stream.Stream].
type Stream interface {
	Server() string
	Send(proto.Message) error
	Recv(proto.Message) error
}

// Client applies a control plane's configuration to the plan. Its methods may be called from any goroutine.
type Client struct {
	cfg    Config
	log    *zap.Logger
	events chan event
	wake   chan struct{} // buffered, with room for one

	notices notices

	end   context.CancelFunc
	done  <-chan struct{} // closed by Close
	ended sync.WaitGroup

	mu        sync.Mutex // guards the fields below, except while a plan is applied
	resources *resources
	machine   *ads.Machine
	sendable  chan struct{} // of the stream, buffered for one; nil without a stream
	pending   []*ads.Update // wait to be applied and then answered
	planAt    time.Time     // when to plan; zero if nothing is due
	again     time.Time     // when to choose again; zero if nothing is due
	retryAt   time.Time     // when to retry conflicting resources; zero if there are none
	settled   bool          // a part of the plan is in force, or has had its time
	settleAt  time.Time     // latest time to settle, once listeners were received; zero before
	first     chan struct{} // closed when settled
	status    notes
	saver     saver
}

// event is a response of a stream for the client's goroutine.
type event struct {
	response *ads.Response
	done     chan error // receives nil when the next one may come
}

// retryInterval is the time between retries of conflicting resources: an address may be free by then.
const retryInterval = 10 * time.Second

// New returns a client, to be started by [Client.Start].
func New(cfg Config) *Client {
	if cfg.decoder == nil {
		cfg.decoder = envoyDecoder{}
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
		resources: newResources(cfg.decoder, rules{s.HoldBack, s.HoldBackPercent, s.InitialFetchTimeout}),
		machine:   ads.New(ads.Config{Node: cfg.Node}),
	}
	c.status.began = time.Now()
	c.saver.path = s.LastGood
	return c
}

// Start connects, and follows the control plane until [Client.Close].
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

// Close ends the client. What is in force stays.
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

// Leave keeps [Client.Close] from writing the last-good file: another process does that.
func (c *Client) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saver.path = ""
}

// Settled returns a channel that is closed once the first part of the plan is in force, or has taken longer than the
// settings allow.
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
			c.log.Warn("xds: no configuration received within initial_fetch_timeout")
			c.markSettled()
		}
	}
}

// markSettled ends the wait for the first configuration. The caller holds the lock.
func (c *Client) markSettled() {
	if !c.settled {
		c.settled = true
		close(c.first)
	}
}

// notices collects what the planner has reported since the client last looked.
type notices struct {
	mu    sync.Mutex
	left  []*plan.ControlError
	again bool
}

// Again retries what the plan has refused, because the file has changed. It does not block.
func (c *Client) Again() {
	c.notices.mu.Lock()
	c.notices.again = true
	c.notices.mu.Unlock()
	c.poke()
}

// LeftOut reports items that are no longer in force, because they conflict with the file. It does not block.
func (c *Client) LeftOut(wrong []*plan.ControlError) {
	c.notices.mu.Lock()
	c.notices.left = append(c.notices.left, wrong...)
	c.notices.mu.Unlock()
	c.poke()
}

// notice handles the planner's reports. It is called with the lock.
func (c *Client) notice(now time.Time) {
	c.notices.mu.Lock()
	left, again := c.notices.left, c.notices.again
	c.notices.left, c.notices.again = nil, false
	c.notices.mu.Unlock()
	for _, item := range left {
		c.resources.leaveOut(item)
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

// run sends the changes to the planner, on the client's goroutine.
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

// wait returns the time until something is due, or less than 0 if nothing is.
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

// receive handles a response.
func (c *Client) receive(ctx context.Context, response *ads.Response) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	u, err := c.machine.Receive(now, response)
	if errors.Is(err, ads.ErrUnanswered) { // apply what is pending first
		c.plan(ctx)
		now = time.Now()
		u, err = c.machine.Receive(now, response)
	}
	switch {
	case errors.Is(err, ads.ErrNonce), errors.Is(err, ads.ErrUnanswered):
		// A response left out would be missing forever, since the server considers it sent.
		return err
	case err != nil:
		c.log.Debug("xds: response ignored", zap.Error(err))
		return nil
	}
	c.status.pushed(u, now)
	c.take(u, now)
	c.pending = append(c.pending, u)
	c.gather(now)
	return nil
}

// take stores an update, and subscribes to what it needs.
func (c *Client) take(u *ads.Update, now time.Time) {
	if c.resources.take(u, now) {
		if k, _ := kindOf(u.Type); k != endpoints {
			c.resources.retry() // earlier conflicts may be resolved
		}
	}
	c.want(now)
}

// want subscribes to what is needed.
func (c *Client) want(now time.Time) {
	for _, k := range []kind{endpoints, secrets} {
		c.machine.Want(now, types[k], c.resources.wanted(k))
	}
	c.send()
}

// gather delays the plan for a moment, to combine it with further updates.
func (c *Client) gather(now time.Time) {
	if c.planAt.IsZero() {
		g := c.cfg.Settings.Gather
		c.planAt = now.Add(g + time.Duration(float64(g)*c.cfg.random()/2))
	}
}

// tick does what is due.
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
		if c.resources.retry() {
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
