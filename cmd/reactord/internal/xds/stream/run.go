package stream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Config is what Run needs. What is zero has its default, except where it says otherwise.
type Config struct {
	// Servers are the servers, at least one. The first one is tried first.
	Servers []Server
	// Method is the path of requests, "/package.Service/Method". It must be set.
	Method string
	// UserAgent is what servers are told of this program. Default: "reactord".
	UserAgent string
	// Backoff is how long to wait between streams. Default: 1 s, growing up to 120 s.
	Backoff Backoff
	// ConnectTimeout is how long connecting may take, with the look-up of a name, the handshake of TLS and the first byte
	// of HTTP/2. Default: 10 s.
	ConnectTimeout time.Duration
	// PingInterval is how long a connection may be without a sign of life before the server is asked for one, and
	// PingTimeout is how long its answer may take. A server that closes a connection since it was asked too often by
	// pings is asked by requests from then on, which servers do not count. In the same time, 1 MiB of a message that has
	// begun must come, or the rest of it. Defaults: 30 s, 15 s.
	PingInterval, PingTimeout time.Duration
	// MaxMessage is the greatest message to receive, in bytes. It bounds what a server can make this process allocate.
	// Default: 64 MiB, which is 200 times what 10000 endpoints take that have an address and a weight (273 kB).
	MaxMessage int
	// Random is uniform in [0, 1). Default: that of math/rand/v2.
	Random func() float64
	// Report is told of each change of the state, by the goroutine of Run; nil: no need.
	Report func(State)
}

// Phase is what Run does.
type Phase uint8

// The phases.
const (
	// Connecting to a server.
	Connecting Phase = iota
	// Connected to it: the stream is open. The server may have said nothing yet.
	Connected
	// Waiting before the next server is tried.
	Waiting
)

// String is a word for people.
func (p Phase) String() string { return [...]string{"connecting", "connected", "waiting"}[p] }

// State is what Run does.
type State struct {
	Phase  Phase
	Server string // that of the attempt; when Waiting: that of the last one
	// Err is why the last stream has ended or could not be opened, when Waiting.
	Err error
	// Wait is how long Run waits, when Waiting.
	Wait time.Duration
}

func (c Config) withDefaults() *Config {
	set := func(to *time.Duration, value time.Duration) {
		if *to == 0 {
			*to = value
		}
	}
	set(&c.Backoff.Base, time.Second)
	set(&c.Backoff.Max, 2*time.Minute)
	set(&c.ConnectTimeout, 10*time.Second)
	set(&c.PingInterval, 30*time.Second)
	set(&c.PingTimeout, 15*time.Second)
	if c.MaxMessage == 0 {
		c.MaxMessage = 64 << 20
	}
	if c.UserAgent == "" {
		c.UserAgent = "reactord"
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Report == nil {
		c.Report = func(State) {}
	}
	return &c
}

// Run keeps a stream open until ctx is done, and returns then. For each stream it calls session, by its own goroutine;
// when session returns, for example with an error of Recv, the stream ends. session must return when Recv or Send
// fails, which they do when ctx is done.
func Run(ctx context.Context, conf Config, session func(*Stream) error) {
	c := conf.withDefaults()
	t := turns{Backoff: c.Backoff, servers: len(c.Servers), random: c.Random}
	calm := make([]bool, len(c.Servers)) // they do not want pings
	for ctx.Err() == nil {
		at := t.server
		server := &c.Servers[at]
		c.Report(State{Phase: Connecting, Server: server.String()})
		received, err := attempt(ctx, c, server, calm[at], session)
		if ctx.Err() != nil {
			return
		}
		if tooManyPings(err) {
			calm[at] = true
			err = fmt.Errorf("%w; requests ask for signs of life from now on, and not pings", err)
		}
		of, _ := errors.AsType[*Error](err)
		wait := t.ended(received, of != nil && of.Code == ResourceExhausted)
		c.Report(State{Phase: Waiting, Server: server.String(), Err: err, Wait: wait})
		sleep(ctx, wait)
	}
}

// attempt has one stream with a server.
func attempt(ctx context.Context, c *Config, server *Server, calm bool, session func(*Stream) error) (received bool,
	err error,
) {
	s, err := open(ctx, c, server, calm)
	if err != nil {
		return false, err
	}
	defer s.Close()
	c.Report(State{Phase: Connected, Server: server.String()})
	if err = session(s); errors.Is(err, errSend) {
		err = s.reason()
	}
	return s.Received() > 0, err
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
