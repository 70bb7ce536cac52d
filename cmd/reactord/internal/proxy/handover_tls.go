package proxy

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy/handover"
	"github.com/reactord/reactord/cmd/reactord/internal/wire/tlsrecord"
)

// A secure connection can move if package tlsrecord has the records of each side with TLS. What it has received is put
// through the record layers when it comes to rest, so that only what is to be sent is left.

// canRest reports whether the state of each side is known.
func (s *tlsLayer) canRest() bool {
	if s.conn.phase != phaseFlowing {
		return false
	}
	for i := range s.sides {
		if side := &s.sides[i]; side.tls != nil && (side.records() == nil || side.flooded) {
			return false
		}
	}
	return true
}

// atRest collects what is to be sent to each side. It reports whether the connection still can move: what has come may
// break the rules of TLS.
func (s *tlsLayer) atRest(rests *[2]rest) bool {
	for _, r := range s.relays {
		if r != nil {
			r.limit = math.MaxInt / 2
			r.take()
		}
	}
	for from, r := range s.relays {
		if r != nil {
			rests[from].bytes = bytes.Join(r.out, nil)
			r.end()
		}
	}
	return s.conn.phase == phaseFlowing
}

// dropStopped ends the relays of which nothing is in flight, because the connection rests.
func (s *tlsLayer) dropStopped() {
	for _, r := range s.relays {
		if r != nil && r.sending == 0 {
			r.end()
		}
	}
}

// carryOn sends what is left, and receives.
func (s *tlsLayer) carryOn(rests *[2]rest) {
	c := s.conn
	for from := range rests {
		if b := rests[from].bytes; len(b) != 0 {
			r := s.relay(from)
			r.append(b)
			r.onlyNotify = r.dst().state == tlsNotified && len(b) <= notifySize
		}
	}
	for from := range c.pipes {
		if p := &c.pipes[from]; p.throttle == nil || !p.throttle.waits {
			p.startSecure(c, from)
		} else {
			p.held = true
		}
	}
	for from := range c.pipes {
		switch {
		case c.phase == phaseFlowing:
			s.sides[from].more = s.sides[from].tls != nil // it may have decrypted some that was not read
			s.relay(from)
			s.advance(from)
		case s.relays[from] != nil:
			s.relays[from].sendOrEnd()
		}
	}
}

// notifySize is the size of a record with close_notify.
const notifySize = 24

// record describes the record layer of a side.
func (s *tlsSide) record(to *handover.Side) {
	to.Received = s.received
	if r := s.records(); r != nil {
		state := r.State()
		to.TLS, _ = json.Marshal(&state) // it has no values that cannot be written
		state.Wipe()
	}
}

// arriveTLS makes the TLS of a connection that comes from another process. It takes the secrets out of the record.
func (c *conn) arriveTLS(r *handover.Record) error {
	for i := range r.Sides {
		from := &r.Sides[i]
		if from.TLS == nil {
			continue
		}
		var state tlsrecord.State
		err := json.Unmarshal(from.TLS, &state)
		clear(from.TLS)
		if err != nil {
			return err
		}
		side := c.tlsSide(i)
		side.framing.took(state.Partial)
		if side.state = tlsOpen; state.Closed {
			side.state = tlsNotified
		}
		records, err := tlsrecord.New(side, state)
		state.Wipe()
		if err != nil {
			return err
		}
		side.tls = records
	}
	if c.tls != nil {
		for i := range c.tls.sides {
			c.tls.sides[i].received = r.Sides[i].Received
		}
	}
	return nil
}
