package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/bench/proc"
)

// A testbed is a server that serves, and the upstream behind it.
type testbed struct {
	server   *proc.Child
	upstream *proc.Child // nil: the load has it on its loop, or there is none
	pids     []int       // the server's processes
	args     []string    // of a load: its target and its upstream
}

// newTestbed starts a peer and waits until a message has come back. Then every process of the server has started. A
// connection alone may still be in the backlog.
func newTestbed(ctx context.Context, w *workshop, c *benchCase, p *peer) (bed *testbed, err error) {
	bed = &testbed{}
	defer func() {
		if err != nil {
			bed.stop()
		}
	}()
	address := ""
	switch {
	case c.Operated:
		bed.upstream, address, err = startUpstream(ctx, w, "echo")
	case c.Proxy:
		address, err = freeAddress()
		bed.args = append(bed.args, "--upstream", "tcp://"+address)
	}
	if err != nil {
		return bed, err
	}
	listen := ""
	if bed.server, listen, err = startPeer(ctx, w, p, address, awaitListening); err != nil {
		return bed, err
	}
	if c.TLS {
		bed.args = append(bed.args, "--target", "tls://"+listen, "--insecure", "--curves", "X25519")
	} else {
		bed.args = append(bed.args, "--target", "tcp://"+listen)
	}
	if c.Resume {
		bed.args = append(bed.args, "--resume")
	}
	if _, err = generate(ctx, w, nil, slices.Concat(c.probe(), bed.args, []string{"--connections", "1", "--verify",
		"--warmup", "0s", "--time", "10ms"})); err != nil {
		return bed, err
	}
	bed.pids, err = proc.Tree(bed.server.Pid())
	return bed, err
}

// stop ends all processes. It may be called again.
func (b *testbed) stop() {
	for _, child := range []*proc.Child{b.server, b.upstream} {
		if child != nil {
			child.Stop()
		}
	}
}

// startPeer starts a server and returns when await says that it serves.
func startPeer(ctx context.Context, w *workshop, p *peer, upstream string,
	await awaiting) (server *proc.Child, listen string, err error) {
	if listen, err = freeAddress(); err != nil {
		return nil, "", err
	}
	argv, err := p.command(w, listen, upstream)
	if err != nil {
		return nil, "", err
	}
	if server, err = w.start(ctx, w.serverCPU, argv); err != nil {
		return nil, "", err
	}
	if err := await(ctx, server, listen); err != nil {
		server.Stop()
		return nil, "", err
	}
	return server, listen, nil
}

// An awaiting waits until a server serves at an address. It returns an error after startLimit.
type awaiting func(ctx context.Context, server *proc.Child, address string) error

// startUpstream starts a server for proxies on the CPU of the load, and returns when it listens.
func startUpstream(ctx context.Context, w *workshop, behaviour ...string) (*proc.Child, string, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, "", err
	}
	argv := slices.Concat(w.self, []string{"serve"}, behaviour, []string{"--listen", "tcp://" + address})
	upstream, err := w.start(ctx, w.loadCPU, argv)
	if err != nil {
		return nil, "", err
	}
	if err := awaitListening(ctx, upstream, address); err != nil {
		upstream.Stop()
		return nil, "", fmt.Errorf("upstream: %w", err)
	}
	return upstream, address, nil
}

// startLimit is the longest time until a server listens.
const startLimit = 10 * time.Second

// awaitListening waits until a connection to address succeeds.
func awaitListening(ctx context.Context, server *proc.Child, address string) error {
	return await(ctx, server, address, 5*time.Millisecond, accepts)
}

// accepts reports whether a connection to address succeeds.
func accepts(address string) bool {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// await waits until a server serves at an address, and tries it each time after a pause.
func await(ctx context.Context, server *proc.Child, address string, pause time.Duration,
	serves func(address string) bool) error {
	deadline := time.Now().Add(startLimit)
	for !serves(address) {
		select {
		case <-server.Done():
			return server.Err()
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the server did not listen on %s within %v", address, startLimit)
		}
		nap(pause)
	}
	return nil
}

// nap sleeps for less than a millisecond too. A timer of Go may be late by one, if nothing else runs.
func nap(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&ts, nil) // a signal may shorten it
}
