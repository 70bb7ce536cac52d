//go:build linux

package server

import "sync/atomic"

// Stats is a reading of a server's counters.
type Stats struct {
	Accepted    uint64            // connections that were accepted
	Connections int64             // connections now
	Panics      uint64            // panics of handlers
	Handshakes  uint64            // TLS handshakes that have failed; not those that the server has ended
	Timeouts    [deadlines]uint64 // open connections that a deadline has ended, by Deadline
}

// counts are those of a worker. Another thread may read them.
type counts struct {
	accepted    atomic.Uint64
	connections atomic.Int64
	panics      atomic.Uint64
	handshakes  atomic.Uint64
	deadlines   [deadlines]atomic.Uint64
}

// Stats sums the counters of all loops. From any thread.
func (s *Server) Stats() (t Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.workers {
		t.Accepted += w.count.accepted.Load()
		t.Connections += w.count.connections.Load()
		t.Panics += w.count.panics.Load()
		t.Handshakes += w.count.handshakes.Load()
		for d := range t.Timeouts {
			t.Timeouts[d] += w.count.deadlines[d].Load()
		}
	}
	return t
}
