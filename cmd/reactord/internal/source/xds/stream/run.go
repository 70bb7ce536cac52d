package stream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Config configures Run. Zero fields have defaults, unless noted otherwise.
type Config struct {
	// Servers lists the servers, at least one, in the order in which to try them.
	Servers []Server
	// Method is the path of requests, "/package.Service/Method". It must be set.
	Method string
	// UserAgent identifies this program to servers. Default: "reactord".
	UserAgent string
	// Backoff is the delay between streams. Default: 1 s, growing up to 120 s.
	Backoff Backoff
	// ConnectTimeout limits connecting, including name resolution, the TLS handshake and the first byte of HTTP/2.
	// Default: 10 s.
	ConnectTimeout time.Duration
	// PingInterval is how long a connection may be silent before the server is pinged, and PingTimeout limits the
	// answer. A server that closes a connection because of too many pings is probed by requests instead, which
	// servers do not count. In the sum of both, 1 MiB of a message that has begun must arrive, or the rest of it.
	// Defaults: 30 s, 15 s.
	PingInterval, PingTimeout time.Duration
	// MaxMessage is the largest message to receive, in bytes. It limits what a server can make this process allocate.
	// Default: 64 MiB, which is 200 times the size of 10000 endpoints with an address and a weight (273 kB).
	MaxMessage int
	// Random returns a uniform number in [0, 1). Default: that of math/rand/v2.
	Random func() float64
	// Report is called on each change of the state, by the goroutine of Run. It may be nil.
	Report func(State)
}

// Phase is the current activity of Run.
type Phase uint8

// Phases of Run.
const (
	// Connecting to a server.
	Connecting Phase = iota
	// Connected: the stream is open. The server may be silent so far.
	Connected
	// Waiting before the next server is tried.
	Waiting
)

// String returns the name of the phase.
func (p Phase) String() string { return [...]string{"connecting", "connected", "waiting"}[p] }

// State is the current activity of Run with its details.
type State struct {
	Phase  Phase
	Server string // of the attempt; while Waiting, of the last one
	// Err is why the last stream ended or could not be opened, while Waiting.
	Err error
	// Wait is the delay, while Waiting.
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

// Run keeps a stream open until ctx is done. For each stream it calls session on its own goroutine; when session
// returns, for example with an error of Recv, the stream ends. session must return when Recv or Send fails, which
// they do when ctx is done.
func Run(ctx context.Context, conf Config, session func(*Stream) error) {
	c := conf.withDefaults()
	t := turns{Backoff: c.Backoff, servers: len(c.Servers), random: c.Random}
	calm := make([]bool, len(c.Servers)) // servers that object to pings
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
			err = fmt.Errorf("%w; probing by requests instead of pings from now on", err)
		}
		of, _ := errors.AsType[*Error](err)
		wait := t.ended(received, of != nil && of.Code == ResourceExhausted)
		c.Report(State{Phase: Waiting, Server: server.String(), Err: err, Wait: wait})
		sleep(ctx, wait)
	}
}

// attempt runs one stream with a server.
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
