package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/clienthello"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/tlsrecord"
	"github.com/reactord/reactord/reactor"
	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/task"
)

// handshake is the state of a side until its handshake is done.
type handshake struct {
	side     *tlsSide
	t        *task.T
	deadline int64  // as the loop's time
	left     int    // bytes that the peer may still send
	rest     int    // bytes that a client may send behind its ClientHello
	out      []byte // to be sent before anything is received
	recv     reactor.RecvOp
	send     reactor.SendOp
	place    place

	keys    *tlsrecord.KeyLog // if the record layer of package tlsrecord is to continue
	written []byte            // then: all that was
}

// What a peer may send in a handshake, besides the ClientHello and its second version that a HelloRetryRequest asks
// for. Certificates take most of it.
const (
	maxClientHandshake = 4 << 10
	maxCertificates    = 64 << 10
)

// errLongHandshake is the error of a peer that sends more in a handshake than it may. A client that has not come to the
// end of its ClientHello gets ErrTooLong of [clienthello].
var errLongHandshake = fmt.Errorf("%w: more than %d bytes", certs.ErrCostly, maxCertificates)

// allow returns what of p may be filled.
func (h *handshake) allow(p []byte) ([]byte, error) {
	switch {
	case h.left > 0:
		return p[:min(len(p), h.left)], nil
	case h.rest > 0:
		return nil, clienthello.ErrTooLong
	}
	return nil, errLongHandshake
}

// terminate does the handshake with the client, whose first bytes may be in the opening. It takes them, and notes in
// c.known what it has learned. It fails with the error of crypto/tls, or of the socket, or with
// os.ErrDeadlineExceeded. Then the client was sent the alert. A client that ends or resets the connection before its
// first byte has not begun a handshake: that is a refusal, and not counted.
func (c *conn) terminate(t *task.T) error {
	s, ends := c.tlsSide(client), c.opening.termination
	s.early, c.opening.early = bytes.Clone(c.opening.early), nil
	s.received = uint64(len(s.early))
	hello := int(c.opening.settings.MaxClientHello)
	s.handshake = &handshake{left: hello, rest: hello + maxClientHandshake}
	if ends.ClientAuth != tls.NoClientCert {
		s.handshake.rest += maxCertificates
	}
	if ends.config.Handover {
		s.handshake.keys = &tlsrecord.KeyLog{}
	}
	with := tls.Server(s, ends.Config)
	err := s.runHandshake(t, with, ends.config.HandshakeTimeout)
	if s.received == 0 && endedByPeer(err) {
		return &refusal{reasonOpeningClient, errClientEnded}
	}
	c.listener.stats.handshakes.count(with, err)
	if err != nil {
		return err
	}
	state := with.ConnectionState()
	if state.Version == tls.VersionTLS13 {
		// crypto/tls has sent its tickets before, so nothing carries the ACK of the client's Finished. With Nagle's
		// algorithm, the client's first bytes would wait for it, 40 ms.
		_ = c.sockets[client].SetQuickAck(true)
	}
	known := c.ensureIdentity()
	known.TLS, known.Negotiated = newHandshakeResult(&state), state.NegotiatedProtocol
	return nil
}

// endedByPeer reports whether a handshake has failed because the peer has ended or reset the connection.
func endedByPeer(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) }

// forgetServerTLS forgets an attempt to speak TLS with a server that was given up: the next one may have none.
func (c *conn) forgetServerTLS() {
	if c.tls == nil {
		return
	}
	s := &c.tls.sides[server]
	if r := s.records(); r != nil {
		r.Wipe()
	}
	*s = tlsSide{layer: s.layer, side: s.side}
	if !c.speaksTLS(client) {
		c.tls = nil
	}
}

// originate does the handshake with the server, as terminate. It may be called again after an error, with another
// server.
func (c *conn) originate(t *task.T) error {
	s := c.tlsSide(server)
	s.handshake = &handshake{left: maxCertificates}
	if c.config.TLS.Handover {
		s.handshake.keys = &tlsrecord.KeyLog{}
	}
	with := tls.Client(s, c.backend.tls.config(c))
	err := s.runHandshake(t, with, c.config.TLS.HandshakeTimeout)
	c.backend.shared.handshakes.count(with, err)
	return err
}

// runHandshake does the handshake, with the bounds that s.shake has.
func (s *tlsSide) runHandshake(t *task.T, with *tls.Conn, limit time.Duration) error {
	loop := s.layer.conn.loop()
	h := s.handshake
	h.side, h.t, h.deadline = s, t, loop.Now()+int64(limit)
	s.tls, s.state, s.more = with, tlsHandshake, true
	err := with.HandshakeContext(context.Background())
	if e := h.flush(); err == nil {
		err = e
	}
	if s.handshake = nil; err == nil {
		s.state = tlsOpen
		s.takeRecords(with, h)
	}
	if h.keys != nil {
		h.keys.Wipe()
	}
	return err
}

// read takes what has arrived before the handshake began, or else waits for bytes of the peer; and then for the step
// that they make crypto/tls compute.
func (h *handshake) read(p []byte) (n int, err error) {
	if p, err = h.allow(p); err != nil {
		return 0, err
	}
	s := h.side
	if h.keys != nil {
		if p, err = h.awaitRecord(p); err != nil {
			return 0, err
		}
	}
	if len(s.early) != 0 {
		n = s.takeEarly(p)
	} else {
		n, err = h.receive(p)
	}
	h.left -= n
	s.framing.took(p[:n])
	if err == nil && (h.keys == nil || !s.framing.cut()) { // else nothing is computed until the record is whole
		err = s.layer.conn.worker().handshakeSteps.await(h)
	}
	return n, err
}

// receive waits for bytes of the peer, after it was sent all that it waits for.
func (h *handshake) receive(p []byte) (int, error) {
	if err := h.flush(); err != nil {
		return 0, err
	}
	c := h.side.layer.conn
	n, err := task.Await(h.t, sender.Timeout(
		withState(c.sockets[h.side.side].Recv(p), &h.recv), c.loop().SleepUntil(h.deadline)))
	switch {
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	h.side.received += uint64(n)
	return n, nil
}

// write queues p.
func (h *handshake) write(p []byte) {
	h.out = append(h.out, p...)
	if h.keys != nil {
		h.written = append(h.written, p...)
	}
}

// flush sends what is queued.
func (h *handshake) flush() error {
	if len(h.out) == 0 {
		return nil
	}
	c := h.side.layer.conn
	_, err := task.Await(h.t, sender.Timeout(
		withState(c.sockets[h.side.side].SendAll(h.out), &h.send), c.loop().SleepUntil(h.deadline)))
	h.out = h.out[:0]
	return err
}

// handshakeStats counts handshakes by version and result. The loops share them: a counter is touched once a handshake.
type handshakeStats [len(tlsVersions)][len(tlsResults)]atomic.Uint64

// tlsVersions are the versions that are counted. The index of one is its number after tls.VersionTLS10, plus 1.
var tlsVersions = [...]string{"none", "1.0", "1.1", "1.2", "1.3"}

const (
	tlsFull = iota
	tlsResumed
	tlsFailed
	tlsTimeout
)

var tlsResults = [...]string{tlsFull: "full", tlsResumed: "resumed", tlsFailed: "failed", tlsTimeout: "timeout"}

// count counts a handshake that has ended with err.
func (h *handshakeStats) count(c *tls.Conn, err error) {
	state := c.ConnectionState()
	result := tlsFull
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		result = tlsTimeout
	case err != nil:
		result = tlsFailed
	case state.DidResume:
		result = tlsResumed
	}
	version := 0
	if state.Version >= tls.VersionTLS10 && state.Version <= tls.VersionTLS13 {
		version = int(state.Version-tls.VersionTLS10) + 1
	}
	h[version][result].Add(1)
}

// read returns what was counted so far.
func (h *handshakeStats) read(full bool) (all stats.Tally[stats.Handshakes]) {
	for v := range h {
		for r := range h[v] {
			if v > 0 || r >= tlsFailed { // what succeeds has a version
				all.Add(stats.Handshakes{Version: tlsVersions[v], Result: tlsResults[r], Count: h[v][r].Load()}, full)
			}
		}
	}
	return all
}
