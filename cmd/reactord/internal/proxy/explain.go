package proxy

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// Explain returns what would happen to a connection of a client now, and why. It decides by what connections are
// decided by, and changes nothing: it takes no room, and no turn of a policy. file says where settings are. The error
// matches [ErrNoListener] or [ErrNoClient]. It may be called from any goroutine.
func (p *Proxy) Explain(c Client, file *plan.File) (*stats.Explanation, error) {
	s, err := p.findListener(&c)
	if err != nil {
		return nil, err
	}
	return p.explain(s, c, file, false)
}

// findListener returns the listener with the name that a client has, or for "" the only one. The name of a range of
// ports means the one of them that the client connects to.
func (p *Proxy) findListener(c *Client) (*sharedListener, error) {
	all := p.table.Load().listeners
	if c.Listener == "" && len(all) == 1 {
		return all[0], nil
	}
	var names []string
	several := false // ports of the name
	for _, s := range all {
		own := s.settings.Load().Name
		of, _, _ := strings.Cut(own, ":")
		port := c.To.Port()
		if c.Listener != "" && (own == c.Listener || of == c.Listener && port != 0 && port == s.address.Port()) {
			return s, nil
		}
		several = several || of == c.Listener
		if !slices.Contains(names, of) {
			names = append(names, of)
		}
	}
	switch {
	case c.Listener == "":
		return nil, fmt.Errorf("%w: there are several: write %s", ErrNoListener, orList(names))
	case several:
		return nil, fmt.Errorf("%w: %q has several ports: write the address to connect to", ErrNoListener, c.Listener)
	}
	return nil, fmt.Errorf("%w: %q is unknown: write %s", ErrNoListener, c.Listener, orList(names))
}

// explain explains a connection of a listener. open says that it is like one that is open: whether the process still
// accepts does not matter.
func (p *Proxy) explain(s *sharedListener, c Client, file *plan.File, open bool) (*stats.Explanation, error) {
	in := s.settings.Load()
	e := &explainer{
		proxy: p, shared: s, settings: in, client: c, file: file, path: file.ListenerPath(in.Name),
		accepts: open || p.DrainPhase() < DrainClosing,
	}
	e.out.Listener, e.out.Steps = in.Name, []stats.ExplainedStep{}
	if err := e.check(); err != nil {
		return nil, err
	}
	e.explain()
	return &e.out, nil
}

// explainer is the state of an explanation.
type explainer struct {
	proxy    *Proxy
	shared   *sharedListener
	settings *settings
	client   Client
	file     *plan.File
	path     string // of the listener's settings; "" if it has left the file
	accepts  bool   // the process accepts
	out      stats.Explanation
}

// explain follows a connection through its stages.
func (e *explainer) explain() {
	if !e.accepts {
		e.out.Steps = append(e.out.Steps, stats.ExplainedStep{
			Setting: "drain", Text: "the process drains, and accepts nothing",
		})
		e.refuse(rejectionReasons[rejectDraining] + "/accept")
		return
	}
	e.listLimits()
	e.listRates()
	if e.shared.isUDP() {
		e.decidePeer()
		e.decideLimits()
	} else {
		e.decideLimits()
		e.decidePeer()
	}
	if !e.settings.countsByHeader(e.peer()) {
		e.decideSource("accept")
	}
	for _, stage := range []func() *refusal{e.readHeader, e.readPreamble, e.readHello} {
		if e.out.Outcome == stats.OutcomeRefuse {
			return
		}
		if no := stage(); no != nil {
			e.refuse(no.why.String())
		}
	}
	if e.out.Outcome == stats.OutcomeRefuse {
		return
	}
	to, no := e.chooseRoute()
	if no == nil {
		no = e.agree(to)
	}
	if no != nil {
		e.refuse(no.why.String())
		return
	}
	e.listBackends(to)
}

func (e *explainer) refuse(why string) { e.settle(stats.OutcomeRefuse, why) }

// settle decides on the outcome, unless it was decided before.
func (e *explainer) settle(outcome stats.Outcome, why string) {
	if e.out.Outcome == "" {
		e.out.Outcome, e.out.Reason = outcome, why
	}
}

// note notes a decision of a setting of the listener.
func (e *explainer) note(setting string, ok bool, format string, args ...any) {
	e.out.Steps = append(e.out.Steps, stats.ExplainedStep{
		Setting: setting, OK: ok, Text: fmt.Sprintf(format, args...), Origin: e.place(setting),
	})
}

// place returns where a setting of the listener is written.
func (e *explainer) place(setting string) string {
	if e.path == "" || e.file.Place == nil {
		return ""
	}
	return e.file.Place(e.path + "." + setting)
}

// origin returns where the value of a setting comes from.
func (e *explainer) origin(path string) string {
	if path == "" || e.file.Origin == nil {
		return ""
	}
	return e.file.Origin(path)
}

// peer returns the address of the socket's other end.
func (e *explainer) peer() netip.Addr {
	if e.client.Header {
		return e.client.Peer.Addr()
	}
	return e.client.Address.Addr()
}

// listLimits lists what counts the connection before it has a backend.
func (e *explainer) listLimits() {
	p, s := e.proxy, e.settings
	e.out.Limits = []stats.ExplainedLimit{
		{Setting: "max_connections", Of: "process", Now: p.Open(), Limit: p.limit.Load(),
			Origin: e.origin("limits.max_connections")},
		{Setting: "max_connections", Of: "listener " + s.Name, Now: e.shared.admission.Connections(),
			Limit: int64(s.MaxConnections), Origin: e.origin(below(e.path, "max_connections"))},
	}
	for i, path := range []string{"limits.source_connections.max", below(e.path, "source_connections.max")} {
		if n, a := s.sourceCounts[i], e.source(); n.table != nil && a.IsValid() {
			e.out.Limits = append(e.out.Limits, stats.ExplainedLimit{
				Setting: rejectionSettings[rejectSource], Of: n.table.Prefix(a).String(),
				Now: int64(n.table.Connections(a)), Limit: int64(n.most), Origin: e.origin(path),
			})
		}
	}
}

// source returns the address that limits by source apply to.
func (e *explainer) source() netip.Addr {
	if peer := e.peer(); !e.client.Header || !e.settings.countsByHeader(peer) {
		return peer
	}
	return e.client.Address.Addr()
}

// decideSource decides whether the client's source may have one more connection, in the phase in which that is known.
func (e *explainer) decideSource(phase string) {
	for i := range e.out.Limits {
		if l := &e.out.Limits[i]; l.Setting == rejectionSettings[rejectSource] && l.Full() {
			e.note(l.Setting, false, "%s has as many connections as it may have", l.Of)
			e.refuse(rejectionReasons[rejectSource] + "/" + phase)
		}
	}
}

// decideLimits decides whether there is room for the connection.
func (e *explainer) decideLimits() {
	for i := range e.out.Limits {
		l := &e.out.Limits[i]
		if l.Setting != rejectionSettings[rejectLimit] || !l.Full() {
			continue
		}
		e.note("max_connections", false, "%s has as many connections as it may have", l.Of)
		outcome := stats.OutcomeWait
		if e.settings.reject || e.shared.isUDP() {
			outcome = stats.OutcomeRefuse
		}
		e.settle(outcome, rejectionReasons[rejectLimit]+"/accept")
	}
}

// listRates lists the rates that the connection counts in.
func (e *explainer) listRates() {
	s, limits, of := e.settings, &e.proxy.table.Load().plan.Limits, "listener "+e.settings.Name
	add := func(setting, of, unit, path string, n int) {
		if n != 0 {
			e.out.Rates = append(e.out.Rates, stats.ExplainedRate{
				Setting: setting, Of: of, PerSecond: int64(n), Unit: unit, Origin: e.origin(path),
			})
		}
	}
	add("rate", "process", "connections", "limits.rate.connections", limits.Rate.Connections)
	add("rate", of, "connections", below(e.path, "rate.connections"), s.Rate.Connections)
	for i, path := range []string{"limits.source_rate.connections", below(e.path, "source_rate.connections")} {
		if p, a := s.prefixRates[i], e.source(); p != nil && a.IsValid() {
			n := [2]int{limits.SourceRate.Connections, s.SourceRate.Connections}[i]
			add("source_rate", p.Prefix(a).String(), "connections", path, n)
		}
	}
	for _, b := range []struct {
		setting, of string
		rate        config.ByteRate
	}{
		{"bandwidth.connection", "connection", s.Bandwidth.Connection}, {"bandwidth.listener", of, s.Bandwidth.Listener},
		{"bandwidth.source", "source", s.Bandwidth.Source},
	} {
		add(b.setting+".from_client", b.of, "bytes", below(e.path, b.setting+".from_client"), int(b.rate.FromClient))
		add(b.setting+".from_server", b.of, "bytes", below(e.path, b.setting+".from_server"), int(b.rate.FromServer))
	}
}

// decidePeer decides on the address of the socket's other end.
func (e *explainer) decidePeer() {
	if peer := e.peer(); peer.IsValid() && !e.settings.expectsHeader() && !e.allow(peer) {
		e.refuse(rejectionReasons[rejectDenied] + "/accept")
	}
}

// allow decides on the address of a client, and notes by which setting.
func (e *explainer) allow(a netip.Addr) bool {
	s, ok := e.settings, e.settings.allowed(a)
	switch in := s.allow == nil || s.allow.Contains(a); {
	case !in:
		e.note("allow", ok, "%s is in none of the networks", a)
	case !ok:
		e.note("deny", ok, "%s is in %s", a, s.deny.describe(a))
	case s.allow != nil:
		e.note("allow", ok, "%s is in %s", a, s.allow.describe(a))
	case s.deny != nil:
		e.note("deny", ok, "%s is in none of the networks", a)
	}
	return ok
}

// readHeader decides on the PROXY header.
func (e *explainer) readHeader() *refusal {
	s, c := e.settings, &e.client
	if !s.expectsHeader() {
		if c.Header && !e.shared.isUDP() {
			e.note("proxy_protocol", true, "no header is expected: it counts as the first bytes of the client")
			c.TLS = false
		}
		if c.Header {
			c.Address, c.To = c.Peer, netip.AddrPort{}
		}
		return nil
	}
	peer := e.peer()
	switch trusted := e.shared.path != "" || !peer.IsValid() || s.trusted.Contains(peer); {
	case !trusted && !c.Header:
		e.note("proxy_protocol.trusted", false, "each connection has to come from a trusted proxy and begin with a header, "+
			"and %s is not one: say via if a proxy is in front", peer)
		return &refusal{reasonUntrusted, errUntrusted}
	case !trusted:
		e.note("proxy_protocol.trusted", false, "%s is not trusted to send a header", peer)
		return &refusal{reasonUntrusted, errUntrusted}
	case !c.Header && !s.ProxyProtocol.Optional:
		e.note("proxy_protocol", false, "the connection has no header")
		return &refusal{why: reasonBadHeader}
	case !c.Header:
		e.note("proxy_protocol.optional", true, "the connection has no header, and needs none")
	default:
		e.note("proxy_protocol", true, "the header says that the client is %s", c.Address.Addr())
	}
	if a := c.Address.Addr(); a.IsValid() && !e.allow(a) {
		return &refusal{reasonDenied, errDenied}
	}
	e.decideSource("opening")
	return nil
}

// readPreamble decides on the protocol in front of TLS.
func (e *explainer) readPreamble() *refusal {
	s := e.settings
	switch {
	case !s.hasPreamble():
		return nil
	case e.client.Header && !s.expectsHeader():
		e.note("start_tls", false, "the client has to ask for TLS as %s has it, and begins with a header", s.StartTLS)
		return &refusal{why: reasonBadPreamble}
	}
	e.note("start_tls", true, "the client has to ask for TLS as %s has it", s.StartTLS)
	e.client.TLS = true
	return nil
}

// readHello decides on the ClientHello.
func (e *explainer) readHello() *refusal {
	s, c := e.settings, &e.client
	if s.needsOpening && (s.expectsHeader() || s.hasPreamble() || s.router.needsHello) {
		e.addTimeout("inspect_timeout", s.InspectTimeout, below(e.path, "inspect_timeout"))
	}
	switch ends := s.termination != nil && !s.router.decidesTLS; {
	case ends && !c.TLS:
		e.note("tls.certificates", false, "TLS ends here, and the client speaks none: say tls if it does")
		return &refusal{reasonClientTLS, errRaw}
	case !ends && s.router.needsHello && !c.TLS && !s.router.takesRaw && !e.shared.isUDP():
		e.note("routes", false, "a route needs the ClientHello, and the client speaks no TLS: say tls if it does, "+
			"or write a route with transport: raw")
		return &refusal{reasonBadHello, errRaw}
	}
	return nil
}

// agree decides whether the client and this proxy can agree on a protocol.
func (e *explainer) agree(to routing) *refusal {
	t := to.termination
	if t == nil || len(t.config.ALPN) == 0 || len(e.client.ALPN) == 0 || e.negotiated(to) != "" ||
		slices.Contains(t.config.ALPN, "h2") && slices.Contains(e.client.ALPN, "http/1.1") { // as crypto/tls has it
		return nil
	}
	e.note(e.tlsSetting(to)+".alpn", false, "%s, not %s", orList(e.client.ALPN), orList(t.config.ALPN))
	return &refusal{why: reasonClientTLS}
}

// negotiated returns the protocol that this proxy and the client agree on, or "".
func (e *explainer) negotiated(to routing) string {
	if to.termination != nil {
		for _, protocol := range to.termination.config.ALPN {
			if slices.Contains(e.client.ALPN, protocol) {
				return protocol
			}
		}
	}
	return ""
}

// request returns the connection as routes see it.
func (e *explainer) request() *routeRequest {
	s, c := e.settings, e.client
	q := &routeRequest{client: unmapped(c.Address), destination: unmapped(c.To), known: &noIdentity}
	if !q.destination.IsValid() {
		q.destination = e.shared.address
	}
	if s.router.needsHello {
		q.speaks = speaksRaw
		if c.TLS {
			q.speaks = speaksTLS
		}
	}
	if c.TLS && (s.router.needsHello || s.termination != nil) {
		q.known = &identity{SNI: normalizedName(c.SNI), Offered: c.ALPN}
	}
	return q
}

// chooseRoute chooses the route as for a connection, and lists those before it with what they want.
func (e *explainer) chooseRoute() (routing, *refusal) {
	r, q := e.settings.router, e.request()
	to, refused := e.settings.choose(q)
	for i := range r.routes {
		of, unmet := &r.routes[i], r.unmet(i, q)
		next := stats.ExplainedRoute{Name: of.name}
		setting := fmt.Sprintf("routes[%d]", i)
		if unmet != noCondition {
			next.Unmet = conditionNames[unmet]
			next.Text = unmetText(unmet, &e.settings.Routes[i], q)
			setting += "." + next.Unmet
		}
		next.Origin = e.place(setting)
		e.out.Routes = append(e.out.Routes, next)
		if unmet == noCondition {
			break
		}
	}
	switch e.out.Route = to.route.nameOrEmpty(); {
	case refused == nil && to.route == nil && len(r.routes) != 0:
		e.note("backend", true, "no route matches: the backend of the listener serves")
	case refused == nil:
	case refused.why == reasonDenied:
		text := fmt.Sprintf("route %s does not allow %s", to.route.name, q.client.Addr())
		if a := q.client.Addr(); to.route.deny != nil && to.route.deny.Contains(a) {
			text += ", which is in " + to.route.deny.describe(a)
		}
		e.note("routes", false, "%s", text)
	default:
		e.note("routes", false, "%v", refused.err)
	}
	return to, refused
}

// conditionNames are the settings of conditions.
var conditionNames = [...]string{
	conditionSNI: "sni", conditionTransport: "transport", conditionALPN: "alpn", conditionSources: "sources",
	conditionDestinations: "destinations", conditionPorts: "destination_ports",
}

// unmetText returns what a route wants, and what the connection has instead.
func unmetText(unmet condition, r *config.Route, q *routeRequest) string {
	switch known := q.identity(); unmet {
	case conditionSNI:
		return fmt.Sprintf("%s, not %s", cmp.Or(known.SNI, "no name"), orList(r.SNI))
	case conditionTransport:
		return fmt.Sprintf("%s, not %s", transportNames[q.speaks], r.Transport)
	case conditionALPN:
		return fmt.Sprintf("%s, not %s", cmp.Or(orList(known.Offered), "no protocol"), orList(r.ALPN))
	case conditionSources:
		return fmt.Sprintf("%s, not in %s", addressOrNone(q.client), orList(r.Sources))
	case conditionDestinations:
		return fmt.Sprintf("%s, not in %s", addressOrNone(q.destination), orList(r.Destinations))
	case conditionPorts:
		return fmt.Sprintf("%d, not %s", q.destination.Port(), orList(r.DestinationPorts))
	}
	return ""
}

func addressOrNone(a netip.AddrPort) string {
	if !a.IsValid() {
		return "no address"
	}
	return a.Addr().String()
}

// transportNames are what a client speaks, for people.
var transportNames = map[transports]config.Transport{speaksTLS: config.TLSTransport, speaksRaw: config.RawTransport}

// listed is how many values of a setting are shown.
const listed = 4

// orList returns the first values of a setting, for people.
func orList[T any](all []T) string {
	var text []string
	for _, v := range all[:min(listed, len(all))] {
		text = append(text, fmt.Sprint(v))
	}
	if more := len(all) - listed; more > 0 {
		return fmt.Sprintf("%s or one of %d more", strings.Join(text, ", "), more)
	}
	return strings.Join(text, " or ")
}

func (e *explainer) addTimeout(setting string, d time.Duration, path string) {
	e.out.Timeouts = append(e.out.Timeouts, stats.ExplainedTimeout{
		Setting: setting, Seconds: stats.Of(d), Origin: e.origin(path),
	})
}
