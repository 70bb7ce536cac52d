package proxy

import (
	"sync/atomic"
	"unsafe"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/internal/intrusive"
	"github.com/reactord/reactord/reactor"
)

// Limits on bytes hold back the credits of a receive. Then bytes stay in the kernel, and their sender waits for room
// there. A direction is limited if its listener limited it when it began to flow. What is limited is received into
// buffers of the loop, one credit each, and is not spliced.
//
// The bytes of a credit are not known when it is granted. It is granted for as many bytes as have come since the last
// grant, and what is received settles the difference. So the rate is exact over time, and a direction is ahead of it by
// what it may have in flight at most: Buffer bytes, or the burst if that is less, but one buffer at least. A
// kernel that cannot limit a multishot receive may add what it delivers before the receive is stopped.

// byteLimits are the limits of a listener, by direction. They do not change.
type byteLimits struct{ conn, listener, address [2]limit.ByteRate }

// newByteLimits returns nil if nothing is limited.
func newByteLimits(b *config.Bandwidth) *byteLimits {
	l := &byteLimits{conn: byteRates(b.Connection), listener: byteRates(b.Listener), address: byteRates(b.Source)}
	if *l == (byteLimits{}) {
		return nil
	}
	return l
}

func byteRates(r config.ByteRate) [2]limit.ByteRate {
	return [2]limit.ByteRate{
		client: limit.NewByteRate(r.FromClient, r.Burst), server: limit.NewByteRate(r.FromServer, r.Burst),
	}
}

// limits reports whether the bytes from a side are limited. l may be nil.
func (l *byteLimits) limits(from int) bool {
	return l != nil && (l.conn[from].Limited() || l.listener[from].Limited() || l.address[from].Limited())
}

// least returns the smallest burst of the bytes from a side.
func (l *byteLimits) least(from int) (bytes int64) {
	bytes = 1 << 40
	for _, r := range []limit.ByteRate{l.conn[from], l.listener[from], l.address[from]} {
		if r.Limited() {
			bytes = min(bytes, r.Burst())
		}
	}
	return bytes
}

// throttle is the state of a direction with limited bandwidth.
//
//	flows → waits  grant: the credits may not be granted yet
//	waits → flows  OnTimer; or the limits have changed
//	any   → ended  end: the connection is closed
type throttle struct {
	pipe       *pipe
	address    limit.Client // zero if client addresses are not limited
	own        limit.ByteBucket
	timer      reactor.Timer
	links      intrusive.Links // among the worker's that wait
	waits      bool
	until      int64       // the end of the wait
	limits     *byteLimits // the limits when the wait began
	held       int         // credits to grant
	sinceGrant int         // bytes since credits were granted last
	reserved   int         // bytes that were taken out of the buckets and have not come
}

func throttleOf(l *intrusive.Links) *throttle {
	return intrusive.Owner[throttle](l, unsafe.Offsetof(throttle{}.links))
}

// waitUntil makes a direction, from which nothing is received yet, wait.
func (t *throttle) waitUntil(at int64) {
	c := t.pipe.conn
	t.waits, t.until, t.limits = true, at, c.listener.shared.settings.Load().byteLimits
	c.worker().throttled.PushBack(&t.links)
	c.listener.stats.throttled.Add(at - c.loop().Now())
	c.loop().SetTimer(&t.timer, at)
}

// limitBytes gives the directions of a connection that begins to flow their throttles.
func (c *conn) limitBytes() {
	s := c.listener.shared.settings.Load()
	if s.byteLimits == nil {
		return
	}
	for from := range c.pipes {
		if !s.byteLimits.limits(from) {
			continue
		}
		t := &throttle{pipe: &c.pipes[from]}
		t.timer.Init(t)
		if clients := c.listener.shared.bytes.addresses.Load(); clients != nil {
			t.address = clients.Acquire(c.clientAddr().Addr(), c.loop().Now())
		}
		c.pipes[from].throttle = t
	}
}

// limitedCredits returns how many credits a limited direction begins with, instead of n.
func (p *pipe) limitedCredits(n int) int {
	s := p.conn.listener.shared.settings.Load()
	if !s.byteLimits.limits(int(p.from)) {
		return n
	}
	return max(min(n, int(s.byteLimits.least(int(p.from)))/p.conn.loop().Buffers().Size()), 1)
}

func (t *throttle) grant(credits int) {
	c := t.pipe.conn
	if c.phase == phaseClosed || credits == 0 {
		return
	}
	now := c.loop().Now()
	t.held += credits
	t.reserved += t.sinceGrant
	limits, until := t.take(t.sinceGrant, now)
	t.sinceGrant = 0
	if until <= now && !t.waits {
		t.flow()
		return
	}
	if !t.waits {
		t.waits, t.until = true, now
		c.worker().throttled.PushBack(&t.links)
	}
	if until > t.until {
		c.listener.stats.throttled.Add(until - t.until)
		t.until, t.limits = until, limits
		c.loop().SetTimer(&t.timer, until)
	}
}

// take takes bytes out of all buckets. They may come at the time until.
func (t *throttle) take(bytes int, now int64) (limits *byteLimits, until int64) {
	from, shared := t.pipe.from, t.pipe.conn.listener.shared
	limits = shared.settings.Load().byteLimits
	if limits == nil {
		return nil, 0
	}
	if r := limits.conn[from]; r.Limited() {
		until = max(until, t.own.Reserve(r, bytes, now))
	}
	if r := limits.listener[from]; r.Limited() {
		until = max(until, shared.bytes.listener[from].Reserve(r, bytes, now))
	}
	if r := limits.address[from]; r.Limited() && t.address.Limited() {
		until = max(until, t.address.Bucket(int(from)).Reserve(r, bytes, now))
	}
	return limits, until
}

// received settles what was reserved with what has come.
func (t *throttle) received(n int) {
	t.sinceGrant += n
	known := min(n, t.reserved)
	t.reserved -= known
	if n > known {
		t.take(n-known, t.pipe.conn.loop().Now())
	}
}

// OnTimer lets the direction flow: the limits allow it now.
func (t *throttle) OnTimer(int64) {
	t.forget()
	t.pipe.conn.touch() // the peers could do nothing meanwhile
	t.flow()
}

// flow grants what is held.
func (t *throttle) flow() {
	credits := t.held
	t.held = 0
	t.pipe.receiveMore(credits)
}

// forget ends the wait.
func (t *throttle) forget() {
	if t.waits {
		t.waits = false
		c := t.pipe.conn
		c.worker().throttled.Remove(&t.links)
		c.loop().StopTimer(&t.timer)
		if early := t.until - c.loop().Now(); early > 0 {
			c.listener.stats.throttled.Add(-early)
		}
	}
}

// end gives back what the connection has of the buckets: it is closed, or rests.
func (t *throttle) end() {
	t.forget()
	from, shared := t.pipe.from, t.pipe.conn.listener.shared
	if l := shared.settings.Load().byteLimits; l != nil && t.reserved != 0 {
		if r := l.listener[from]; r.Limited() {
			shared.bytes.listener[from].GiveBack(r, t.reserved)
		}
		if r := l.address[from]; r.Limited() && t.address.Limited() {
			t.address.Bucket(int(from)).GiveBack(r, t.reserved)
		}
		if r := l.conn[from]; r.Limited() {
			t.own.GiveBack(r, t.reserved)
		}
	}
	if t.address.Limited() {
		t.address.Release()
		t.address = limit.Client{}
	}
	t.reserved = 0
}

// endThrottles ends the throttles of a closed connection.
func (c *conn) endThrottles() {
	for i := range c.pipes {
		if t := c.pipes[i].throttle; t != nil {
			t.end()
		}
	}
}

// throttled reports whether the limits hold a direction back.
func (c *conn) throttled() bool {
	for i := range c.pipes {
		if t := c.pipes[i].throttle; t != nil && t.waits {
			return true
		}
	}
	return false
}

// followBandwidth lets those go whose limits have changed: they may have waited for very long.
func (w *worker) followBandwidth() {
	for l := w.throttled.First(); l != nil; {
		t := throttleOf(l)
		l = l.Next()
		if now := t.pipe.conn.listener.shared.settings.Load().byteLimits; !now.equals(t.limits) {
			t.own.Refill()
			t.OnTimer(0)
		}
	}
}

func (l *byteLimits) equals(other *byteLimits) bool {
	return l == other || l != nil && other != nil && *l == *other
}

// sharedBytes is the buckets of a listener.
type sharedBytes struct {
	_         [64]byte
	listener  [2]limit.ByteBucket
	_         [64]byte
	addresses atomic.Pointer[limit.Clients] // nil until addresses are limited
}

// follow refills the buckets if a plan changes the limits: what was taken by the old ones is forgotten.
func (b *sharedBytes) follow(before, after *byteLimits) {
	if !after.equals(before) {
		for i := range b.listener {
			b.listener[i].Refill()
		}
	}
	if after != nil && (after.address[client].Limited() || after.address[server].Limited()) &&
		(b.addresses.Load() == nil || before == nil || before.address != after.address) {
		b.addresses.Store(limit.NewClients())
	}
}
