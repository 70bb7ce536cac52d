package simulation

import (
	"net/netip"
	"slices"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// simulated returns a plan as far as it is simulated: without TLS that ends here or begins here, datagrams, unix
// sockets, access logs, and options of sockets that only a kernel knows. A listener of a unix socket is left out, and
// so is one that is passed; a server on one is at an address of its own.
func simulated(p *plan.Plan) *plan.Plan {
	out := *p
	out.AccessLog = config.AccessLog{}
	out.Limits.Memory = 0
	out.Listeners, out.Backends = nil, nil
	for i := range p.Listeners {
		if l := p.Listeners[i]; Simulates(&l) {
			out.Listeners = append(out.Listeners, simulatedListener(l))
		}
	}
	for i := range p.Backends {
		out.Backends = append(out.Backends, simulatedBackend(p.Backends[i]))
	}
	return &out
}

// Simulates reports whether connections to a listener are simulated.
func Simulates(l *plan.Listener) bool {
	return !l.IsUDP() && l.Path == "" && l.FD == "" && l.Bind.Port() != 0
}

func simulatedListener(l plan.Listener) plan.Listener {
	fresh := config.NewListener()
	l.TLS, l.StartTLS, l.Socket, l.Keys, l.RouteKeys = fresh.TLS, fresh.StartTLS, fresh.Socket, nil, nil
	l.Routes = slices.Clone(l.Routes)
	for i := range l.Routes {
		l.Routes[i].TLS, l.Routes[i].Passthrough = config.NewRoute().TLS, false
	}
	return l
}

func simulatedBackend(b plan.Backend) plan.Backend {
	settings, fresh := *b.Settings, config.NewBackend()
	settings.TLS, settings.Check.TLS, settings.Check.TLSServerName = fresh.TLS, false, ""
	simplify(&settings.Check)
	b.Settings, b.Keys = &settings, nil
	b.Servers = slices.Clone(b.Servers)
	for i := range b.Servers {
		b.Servers[i].Address = serveraddr.IP(placeOf(b.Servers[i].Address))
		if own := b.Servers[i].Check; own != nil { // the server answers what its backend's check sends
			b.Servers[i].Check = &config.ServerCheck{Disabled: own.Disabled, Port: own.Port}
		}
	}
	slices.SortFunc(b.Servers, func(x, y plan.Server) int { return x.Address.Compare(y.Address) })
	return b
}

// simplify replaces a dialogue by one question and one answer: a simulated server gives the answers that a check
// expects, or none.
func simplify(c *config.Check) {
	if protocol := c.Protocol; len(c.Steps) > 0 || protocol != config.CheckTCP && protocol != "" {
		c.Send, c.Expect, c.Steps, c.Protocol = "steps\r\n", "answers\r\n", nil, config.CheckTCP
	}
}

// placeOf returns where a server is simulated: at its address, or, for one on a unix socket, at one that follows from
// its path, on the proxy's machine.
func placeOf(a serveraddr.Addr) netip.AddrPort {
	if !a.IsUnix() {
		return a.AddrPort()
	}
	h := uint32(2166136261)
	for _, c := range []byte(a.Path()) {
		h = (h ^ uint32(c)) * 16777619
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 1 + byte(h>>24)%254, byte(h >> 16), byte(h >> 8)}), 1)
}
