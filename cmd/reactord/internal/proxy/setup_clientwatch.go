package proxy

import (
	"time"

	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/stop"
	"golang.org/x/sys/unix"
)

// clientWatch notices that a client resets its connection while that has no server yet: nothing is received from it
// meanwhile. EOF is not noticed, because the client may still wait for an answer.
type clientWatch struct {
	sender.EmptyEnv
	conn *conn
	poll reactor.PollOp
	stop stop.Source
}

// watchAfter is how long the first attempt to connect lasts before the client is watched. Most have succeeded by then,
// and cost nothing more.
const watchAfter = 100 * time.Millisecond

// watchClient begins to watch the client, unless it is watched.
func (d *dial) watchClient() {
	if d.watch != nil {
		return
	}
	c := d.conn
	k := c.worker().clientWatches.Get()
	k.conn, d.watch = c, k
	c.sockets[client].Poll(0).Connect(&k.poll, k) // errors are always reported
	k.poll.Start()
}

// endWatch ends watching the client.
func (d *dial) endWatch() {
	if d.watch != nil {
		d.watch.stop.RequestStop()
		d.watch = nil
	}
}

// StopToken returns what ends the watch.
func (k *clientWatch) StopToken() stop.Token { return k.stop.Token() }

// Env returns the watch, which has the stop token.
func (k *clientWatch) Env() sender.Env { return k }

// SetValue ends the connection if the client has reset it. A unix socket that was closed by its peer has hung up
// without an error, and what was sent before is still for the server.
func (k *clientWatch) SetValue(events uint32) {
	if c := k.release(); c.phase == phaseConnecting && events&unix.POLLERR != 0 {
		c.dial.clientReset()
	}
}

// SetError ends the watch: the socket cannot be polled, or is being closed.
func (k *clientWatch) SetError(error) { k.release() }

// SetStopped ends the watch: the connection has its server, or the loop is stopping.
func (k *clientWatch) SetStopped() { k.release() }

// release gives back the watch, and returns its connection.
func (k *clientWatch) release() *conn {
	c := k.conn
	if c.dial != nil && c.dial.watch == k {
		c.dial.watch = nil
	}
	c.worker().clientWatches.Put(k)
	return c
}

// clientReset ends a connection whose client has reset it.
func (d *dial) clientReset() {
	why := reasonConnectClientReset
	if d.queued() {
		why = reasonQueueClientReset
	}
	d.logNoServer(why, nil)
	d.conn.close(why, bothSides)
}
