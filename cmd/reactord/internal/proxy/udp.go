package proxy

import (
	"fmt"
	"net/netip"
	"os"

	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/limit"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/udp"
	"go.uber.org/zap"
)

// A listener of UDP has a [udp.Listener] instead of sockets that it accepts from. Its sessions are connections to the
// limits and the counters. A datagram for which there is no session, and no room for one, is dropped: datagrams cannot
// wait in the kernel's queue, because those of other sessions are behind them.

// isUDP reports whether the listener receives datagrams.
func (s *sharedListener) isUDP() bool { return s.key.IsUDP() }

// newUDP makes the part of a listener that receives datagrams. It knows its address when it is started.
func newUDP(l *listener) *udp.Listener {
	w := l.worker
	return udp.New(udp.Config{
		Loop: w.loop, Owner: (*udpOwner)(l), Broadcasts: w.index == 0, Patience: w.proxy.pressure.scale,
	})
}

// udpSettings returns how sessions of a listener end: the settings of before, if nothing has changed.
func udpSettings(l *plan.Listener, before *settings) *udp.Settings {
	if !l.IsUDP() {
		return nil
	}
	s := udp.Settings{Idle: l.UDP.IdleTimeout, Requests: l.UDP.Requests, Responses: l.UDP.Responses}
	if before != nil && before.udp != nil && *before.udp == s {
		return before.udp
	}
	return &s
}

// udpReceiveBuffer bounds what the kernel holds for a socket: what comes in a few milliseconds. What comes while it is
// full is lost.
const udpReceiveBuffer = 4 << 20

// startUDP begins to receive, if no sessions of other processes are awaited.
func (l *listener) startUDP() {
	l.udp.Address = l.shared.address
	l.udp.Start()
	if l.worker.proxy.handovers.sessions.Load() == 0 {
		l.udp.Receive()
	}
}

// stopUDP begins no further session. Datagrams of the sessions are still passed on, until they are idle or the worker
// is closed. If another process has the sockets, that receives. If the plan has no such listener, its sessions end,
// because its address is to be free.
func (l *listener) stopUDP(handedOver bool) {
	if l.state == listenerClosed {
		return
	}
	l.state = listenerClosing
	l.unpause()
	switch {
	case l.worker.state == workerClosed || l.retiredBy != nil:
		l.udp.Close()
	case handedOver:
		l.udp.HandOver()
	default:
		l.udp.Receive() // if it has awaited sessions until now
		l.udp.Drain()
	}
}

// udpOwner is a listener as the owner of its sessions.
type udpOwner listener

// Admit makes a session, if there is room and a server.
func (o *udpOwner) Admit(from, local netip.AddrPort) *udp.Session {
	l := (*listener)(o)
	s := l.shared.settings.Load()
	held, v := l.admitUDP(s, from)
	if v != verdictAccept {
		l.stats.rejected[v].Add(1)
		if l.stats.logged.due(l.worker.loop.Now()) {
			l.worker.proxy.log.Warn("UDP session refused: dropping datagrams",
				zap.String("listener", l.name()), zap.Stringer("client", from), zap.String("limit", rejectionReasons[v]))
		}
		return nil
	}
	return l.beginSession(s, from, local, held)
}

// admitUDP decides on a session, and takes what it needs if there is room.
func (l *listener) admitUDP(s *settings, from netip.AddrPort) (held sourceHolds, v verdict) {
	switch {
	case l.worker.state >= workerDraining:
		return held, rejectDraining
	case !s.allowed(from.Addr()):
		return held, rejectDenied
	case l.takeRates(s) != 0:
		return held, rejectRate
	case s.MaxConnections == 0 && !l.ensurePort():
		l.giveRates(s)
		return held, rejectPorts
	case l.admission.Take() != limit.Granted:
		l.giveRates(s)
		return held, rejectLimit
	}
	held, over := l.takeSource(s, from.Addr())
	if over.why != verdictAccept {
		l.giveBack(s)
	}
	return held, over.why
}

// ensurePort reports whether there may be one more session: each takes a local port for all addresses of the machine,
// whose own lookups of names need some, too. If there are as many as there may be, the oldest one ends that no client
// has confirmed, of this listener or else of another: datagrams with forged addresses take no ports from others for
// long.
func (l *listener) ensurePort() bool {
	w := l.worker
	if w.proxy.sessions.Load() < w.proxy.ports {
		return true
	}
	if l.stats.logged.due(w.loop.Now()) {
		w.proxy.log.Warn("local ports for UDP sessions exhausted: ending unconfirmed sessions early",
			zap.String("listener", l.name()), zap.Int64("limit", w.proxy.ports))
	}
	if l.udp.EndOldest() {
		return true
	}
	for _, other := range w.listeners {
		if other.udp != nil && other.udp.EndOldest() {
			return true
		}
	}
	return false
}

// sessionPorts returns how many UDP sessions the process may have if their listeners have no limit: three quarters of
// the local ports that the kernel chooses from.
func sessionPorts() int64 {
	first, last := 32768, 60999 // the kernel's defaults
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(string(text), &first, &last)
	}
	return max(int64(last-first+1)*3/4, 1)
}

// Count adds up what has moved.
func (o *udpOwner) Count(t udp.Tally) {
	for side := range t.Bytes {
		o.traffic.bytes[side].Add(t.Bytes[side])
		o.traffic.datagrams[side].Add(t.Datagrams[side])
	}
	for i, n := range t.Dropped {
		if n != 0 {
			o.traffic.dropped[i].Add(n)
		}
	}
}

// Failed notes that a socket cannot be received from.
func (o *udpOwner) Failed(err error) { (*listener)(o).failed(err) }

// Recovered notes that the socket can be received from again.
func (o *udpOwner) Recovered() { (*listener)(o).recovered() }

// Closed ends the listener: it has neither sessions nor sockets.
func (o *udpOwner) Closed() { (*listener)(o).closed() }
