package proxy

import (
	"bytes"
	"crypto/tls"
	"os"

	"go.uber.org/zap"

	"github.com/reactord/reactord/cmd/reactord/internal/wire/tlsrecord"
)

// A connection of TLS 1.3 that is to move in an upgrade is continued by package tlsrecord behind the handshake, because
// crypto/tls does not give its state away.

// awaitRecord sees to it that some bytes are in early, and returns what of p may be filled with them: one record at a
// time, so that crypto/tls holds nothing behind the handshake.
func (h *handshake) awaitRecord(p []byte) ([]byte, error) {
	s := h.side
	if len(s.early) == 0 {
		b := make([]byte, min(h.left, recordAhead))
		n, err := h.receive(b)
		if err != nil {
			return nil, err
		}
		s.early = b[:n]
	}
	return p[:min(len(p), s.framing.rest())], nil
}

// recordAhead bounds the bytes that are received ahead of a record.
const recordAhead = 4 << 10

// rest returns how many bytes are missing of the record, or of its header.
func (f *framing) rest() int {
	if f.header == 0 && f.left != 0 {
		return int(f.left)
	}
	return recordHeader - int(f.header)
}

// takeRecords continues the connection behind the handshake that crypto/tls has done, if it is to move in an upgrade.
// Before TLS 1.3 it cannot.
func (s *tlsSide) takeRecords(with *tls.Conn, h *handshake) {
	known := with.ConnectionState()
	if h.keys == nil || known.Version != tls.VersionTLS13 {
		return
	}
	s.early = bytes.Clone(s.early) // without the room around it
	state, err := h.keys.State(known.CipherSuite, s.side == client, h.written)
	defer state.Wipe()
	var records *tlsrecord.Conn
	if err == nil {
		records, err = tlsrecord.New(s, state)
	}
	if err != nil {
		if entry := s.layer.conn.debug("the connection will not move in an upgrade"); entry != nil {
			entry.Write(names(s.layer.conn), zap.Error(err))
		}
		return
	}
	if s.side == server {
		records.OnTicket(func(record []byte) {
			s.ticket = record
			_, _ = with.Read(make([]byte, 1)) // it makes a session of the ticket
			s.ticket = nil
		})
	}
	s.tls = records
}

// readTicket gives crypto/tls a record with a session ticket.
func (s *tlsSide) readTicket(p []byte) (int, error) {
	if len(s.ticket) == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(p, s.ticket)
	s.ticket = s.ticket[n:]
	return n, nil
}

// Room implements [tlsrecord.Transport]: the next record is sealed where Write would put it.
func (s *tlsSide) Room(n int) []byte {
	c := s.layer.conn
	if s.handshake != nil || c.phase == phaseClosed || s.flooded || c.pipes[s.outward()].state.ended() {
		return make([]byte, 0, n)
	}
	b := s.layer.relay(s.outward()).roomFor(n)
	return b[len(b):]
}

// records returns the record layer of a side, or nil if crypto/tls has it, or there is none.
func (s *tlsSide) records() *tlsrecord.Conn {
	r, _ := s.tls.(*tlsrecord.Conn)
	return r
}

// wipe forgets the secrets of a connection that ends here.
func (s *tlsLayer) wipe() {
	for i := range s.sides {
		if r := s.sides[i].records(); r != nil {
			r.Wipe()
		}
	}
}
