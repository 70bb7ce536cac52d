package proxy

import "time"

// What the kernel knows of the TCP connections with both sides is asked at the end of a connection, for the access log
// and the metrics; for interim lines; and for lists that want it. The kernel counts for a socket, so that an upgrade
// changes nothing.
//
// An answer (getsockopt(2), TCP_INFO) takes 3 µs of the CPU on the machine where a connection that carries a few bytes
// takes 43 (BenchmarkTCPInfo of package reactor; bench churn). To ask two sockets of each would be 14 % of that. So of
// short connections one in tcpInfoEvery is asked about, which is 0.4 %.
const (
	tcpInfoAge   = time.Second // of connections that are all asked about
	tcpInfoEvery = 32
)

// sampleTCP returns what the kernel knows of the connections with both sides, if this one is to be asked about.
func (c *conn) sampleTCP() (sides [2]TCP) {
	if c.age() >= tcpInfoAge || c.inSample(tcpInfoEvery) {
		return c.tcpInfo()
	}
	return sides
}

// tcpInfo asks the kernel about the sides. That of the server is known when bytes flow.
func (c *conn) tcpInfo() (sides [2]TCP) {
	if c.phase == phaseClosed {
		return sides
	}
	c.askTCP(client, &sides[client])
	if c.phase >= phaseFlowing {
		c.askTCP(server, &sides[server])
	}
	return sides
}

// noRTT is the kernel's shortest round trip if none was measured.
const noRTT = 1<<32 - 1

func (c *conn) askTCP(side int, to *TCP) {
	info, err := c.sockets[side].TCPInfo()
	if err != nil { // a unix socket
		return
	}
	*to = TCP{
		Known: true, RTT: time.Duration(info.Rtt) * time.Microsecond, Retransmits: info.Total_retrans,
		DeliveryRate: info.Delivery_rate,
	}
	if info.Min_rtt != noRTT {
		to.MinRTT = time.Duration(info.Min_rtt) * time.Microsecond
	}
}

// countTCP counts what the kernel has told at the end of the connection.
func (c *conn) countTCP(sides *[2]TCP) {
	if t := &sides[client]; t.Known {
		c.listener.stats.tcp.Observe(t.RTT, t.Retransmits)
		c.worker().totals.tcp[client].Observe(t.RTT, t.Retransmits)
	}
	if t := &sides[server]; t.Known && c.server != nil {
		c.server.TCP.Observe(t.RTT, t.Retransmits)
		c.worker().totals.tcp[server].Observe(t.RTT, t.Retransmits)
	}
}
