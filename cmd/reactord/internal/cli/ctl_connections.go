package cli

import (
	"cmp"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
)

// connectionSort is the order of a list of connections.
type connectionSort string

const (
	sortByID          connectionSort = "id" // as the API lists them
	sortByRTT         connectionSort = "rtt"
	sortByRetransmits connectionSort = "retransmits"
	sortByRate        connectionSort = "rate"
)

// largest sorts connections, the largest first, and returns at most limit of them (0: all).
func (s connectionSort) largest(all []admin.Connection, limit int, r *rates) []admin.Connection {
	slices.SortStableFunc(all, func(a, b admin.Connection) int {
		switch s {
		case sortByRTT:
			return cmp.Compare(rttOf(&b), rttOf(&a))
		case sortByRetransmits:
			return cmp.Compare(retransmitsOf(&b), retransmitsOf(&a))
		default:
			return cmp.Compare(r.of(&b), r.of(&a))
		}
	})
	if limit > 0 && len(all) > limit {
		all = all[:limit]
	}
	return all
}

// tcpOf returns what is known of the TCP connection with a side; zero if nothing is.
func tcpOf(side *admin.TCP) admin.TCP {
	if side == nil {
		return admin.TCP{}
	}
	return *side
}

func rttOf(n *admin.Connection) admin.Seconds {
	return max(tcpOf(n.ClientTCP).RTT, tcpOf(n.ServerTCP).RTT)
}

func retransmitsOf(n *admin.Connection) uint64 {
	return max(tcpOf(n.ClientTCP).Retransmits, tcpOf(n.ServerTCP).Retransmits)
}

// rates tells how many bytes connections carry in a second: since they were listed before, or else since they were
// opened.
type rates struct {
	perSecond map[string]float64
	bytes     map[string]uint64 // when they were listed last
	listed    time.Time
}

// update takes the connections of a new list.
func (r *rates) update(all []admin.Connection) {
	now := time.Now()
	elapsed := now.Sub(r.listed).Seconds()
	perSecond, bytes := map[string]float64{}, map[string]uint64{}
	for i := range all {
		n := &all[i]
		total := n.ReceivedBytes + n.SentBytes
		bytes[n.ID] = total
		if before, listed := r.bytes[n.ID]; listed {
			perSecond[n.ID] = float64(total-before) / elapsed
		} else if n.Age > 0 {
			perSecond[n.ID] = float64(total) / float64(n.Age)
		}
	}
	*r = rates{perSecond, bytes, now}
}

func (r *rates) of(n *admin.Connection) float64 { return r.perSecond[n.ID] }

// connectionTable returns a table of connections. A wide one has what the kernel knows of TCP, too.
func connectionTable(all []admin.Connection, wide bool, r *rates) *table {
	titles := []string{
		"ID", "LISTENER", "CLIENT", "BACKEND", "SERVER", "STATE", ">AGE", ">IDLE", ">RECEIVED", ">SENT",
	}
	if wide {
		titles = append(titles, ">BYTES/S", "SNI", "TLS",
			">CLIENT RTT", ">MIN", ">RETRANSMITS", ">DELIVERY/S", ">SERVER RTT", ">MIN", ">RETRANSMITS", ">DELIVERY/S")
	}
	t := newTable(titles...)
	for i := range all {
		n := &all[i]
		cells := []any{
			n.ID, n.Listener, n.Client, n.Backend, n.Server, n.State, humanTime(n.Age), humanTime(n.Idle),
			humanBytes(n.ReceivedBytes), humanBytes(n.SentBytes),
		}
		if wide {
			cells = append(cells, humanBytes(uint64(r.of(n))), n.SNI, n.TLSVersion)
			cells = append(cells, tcpCells(n.ClientTCP)...)
			cells = append(cells, tcpCells(n.ServerTCP)...)
		}
		t.add(cells...)
	}
	return t
}

// tcpCells returns the cells of the TCP connection with a side. Those that are unknown are empty.
func tcpCells(side *admin.TCP) []any {
	if side == nil {
		return []any{"", "", "", ""}
	}
	rate := ""
	if side.DeliveryRate > 0 {
		rate = humanBytes(side.DeliveryRate)
	}
	return []any{humanRTT(side.RTT), humanRTT(side.MinRTT), side.Retransmits, rate}
}

// humanRTT formats a round-trip time with about three digits; "" if it is unknown.
func humanRTT(s admin.Seconds) string {
	d := s.Duration()
	switch {
	case d <= 0:
		return ""
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < 100*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond).String()
}
