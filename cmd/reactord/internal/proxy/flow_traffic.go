package proxy

import (
	"sync/atomic"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy/udp"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// traffic counts what a listener has moved on one loop. Only that loop writes it, and no other writes to its cache
// lines: a message writes to none that loops share.
type traffic struct {
	_         [64]byte
	bytes     [2]atomic.Uint64             // from the client, from the server
	datagrams [2]atomic.Uint64             // of UDP, that were passed on
	dropped   [udp.DropCount]atomic.Uint64 // of UDP
	_         [64]byte
}

// readTraffic adds up what all loops have moved.
func (s *sharedListener) readTraffic(out *stats.Listener, full bool) {
	for i, reason := range udp.Drops {
		dropped := stats.Count{Reason: reason}
		for _, l := range s.loops {
			dropped.Count += l.traffic.dropped[i].Load()
		}
		out.DroppedDatagrams.Add(dropped, full)
	}
	for _, l := range s.loops {
		t := &l.traffic
		out.ReceivedBytes += t.bytes[client].Load()
		out.SentBytes += t.bytes[server].Load()
		out.ReceivedDatagrams += t.datagrams[client].Load()
		out.SentDatagrams += t.datagrams[server].Load()
	}
}
