package accesslog

import "time"

// TCP describes a TCP connection as the kernel does: see tcp(7), TCP_INFO. It is zero for what is not a TCP connection,
// and for one that the kernel was not asked about.
type TCP struct {
	Known        bool
	RTT          time.Duration // smoothed; 0: no round trip was measured
	MinRTT       time.Duration // the shortest of the last minutes (net.ipv4.tcp_min_rtt_wlen); 0 likewise
	Retransmits  uint32        // segments that were sent again, or once more
	DeliveryRate uint64        // bytes a second that the peer has received; 0: too few were sent to tell
}

func rttField(name string, of func(*Record) time.Duration) field {
	return field{name: name, duration: of, known: func(r *Record) bool { return of(r) != 0 }}
}

func retransmitsField(name string, side int) field {
	return field{
		name: name, number: func(r *Record) int64 { return int64(r.TCP[side].Retransmits) },
		known: func(r *Record) bool { return r.TCP[side].Known },
	}
}

func deliveryRateField(name string, side int) field {
	return field{
		name: name, number: func(r *Record) int64 { return int64(r.TCP[side].DeliveryRate) },
		known: func(r *Record) bool { return r.TCP[side].DeliveryRate != 0 },
	}
}
