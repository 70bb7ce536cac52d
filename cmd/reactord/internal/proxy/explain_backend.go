package proxy

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream/balance"
)

// listBackends explains the backends that a connection may get.
func (e *explainer) listBackends(to routing) {
	sum, before := to.targets[len(to.targets)-1].sum, uint64(0)
	outcome, why := stats.Outcome(""), ""
	for _, t := range to.targets {
		b := e.explainBackend(to, t.backend)
		b.Percent = 100 * float64(t.sum-before) / float64(sum)
		before = t.sum
		e.out.Backends = append(e.out.Backends, b)
		if outcome == "" || b.Outcome == stats.OutcomeForward {
			outcome, why = b.Outcome, b.Reason
		}
	}
	e.settle(outcome, why)
}

// backendView holds a backend as it is at one moment.
type backendView struct {
	*upstream.Backend
	group    *upstream.Group
	settings *config.Backend
	keys     *certs.Client
	path     string // of its settings; "" if it has left the file
}

// explainBackend explains one backend.
func (e *explainer) explainBackend(to routing, of *upstream.Backend) stats.ExplainedBackend {
	v := &backendView{of, of.Group(), of.Settings(), of.Keys(), e.file.BackendPath(of.Name)}
	s, group := v.settings, v.group.Snapshot()
	b := stats.ExplainedBackend{
		Backend: of.Name, Policy: string(s.Balance.Policy), Hashes: s.Balance.Policy.Hashes(), Panic: group.Panic(),
		ClientTLS: e.clientTLS(to), Header: string(s.ProxyProtocol.Version), Servers: []stats.ExplainedServer{},
	}
	for _, kind := range s.ProxyProtocol.TLVs {
		b.TLVs = append(b.TLVs, string(kind))
	}
	portions, at := group.Portions(), map[*upstream.Server]int{}
	for i, server := range v.group.Servers {
		at[server] = i
	}
	eligible := 0
	for _, portion := range portions {
		if portion > 0 {
			eligible++
		}
	}
	chosen := e.pick(&b, v, group)
	if kept := e.stickyServer(&b, v); kept != noneChosen {
		chosen = kept
	} else if !b.Hashes && eligible > 1 {
		chosen = noneChosen // any of them
	}
	for _, server := range e.proxy.upstreams.Servers(of) {
		read := server.Stats()
		x := stats.ExplainedServer{
			Server: read.Name, Address: read.Address, State: read.State, Reason: read.Reason,
			OwnChecks: read.OwnChecks, Weight: read.Weight,
			Priority: read.Priority, Backup: read.Backup, Locality: read.Locality, Connections: read.Connections,
			MaxConnections: read.MaxConnections, TLS: e.serverName(to, v, server), Origin: read.Origin,
		}
		if i, in := at[server]; in {
			x.Percent, x.Chosen = 100*portions[i], i == chosen
		}
		b.Servers = append(b.Servers, x)
	}
	e.listTLS(&b, to, v)
	e.listTimeouts(&b, to, v)
	return b
}

// listTLS lists the TLS that this proxy speaks.
func (e *explainer) listTLS(b *stats.ExplainedBackend, to routing, v *backendView) {
	if t := to.termination; t != nil {
		b.TLS = append(b.TLS, stats.ExplainedTLS{
			Side: "client", Versions: versionRange(t.config.MinVersion, t.config.MaxVersion), ALPN: t.config.ALPN,
			Certificate: t.certificateFor(e.client.SNI), Verifies: string(t.config.ClientAuth),
			Origin: e.place(e.tlsSetting(to) + ".certificates"),
		})
	}
	if v.keys == nil {
		return
	}
	s := &v.settings.TLS
	x := stats.ExplainedTLS{
		Side: "server", Versions: versionRange(s.MinVersion, s.MaxVersion), ALPN: s.ALPN, Verifies: "server_name",
	}
	switch {
	case s.Insecure:
		x.Verifies = "insecure"
	case len(s.SANs) != 0:
		x.Verifies = orList(s.SANs)
	}
	if own := e.negotiated(to); len(s.ALPN) == 0 && own != "" {
		x.ALPN = []string{own}
	}
	if shown := v.keys.Config(s).Certificates; len(shown) != 0 {
		x.Certificate = firstName(&shown[0])
	}
	if v.path != "" && e.file.Place != nil {
		x.Origin = e.file.Place(v.path + ".tls")
	}
	b.TLS = append(b.TLS, x)
}

// certificateFor returns the first name of the certificate that a client is shown, if it can verify all of them.
func (t *tlsTermination) certificateFor(sni string) string {
	hello := &tls.ClientHelloInfo{
		ServerName: sni, SupportedVersions: []uint16{tls.VersionTLS13, tls.VersionTLS12},
		CipherSuites:    []uint16{tls.TLS_AES_128_GCM_SHA256},
		SupportedCurves: []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521},
		SignatureSchemes: []tls.SignatureScheme{
			tls.ECDSAWithP256AndSHA256, tls.ECDSAWithP384AndSHA384, tls.ECDSAWithP521AndSHA512, tls.Ed25519,
			tls.PSSWithSHA256, tls.PSSWithSHA384, tls.PSSWithSHA512,
		},
	}
	c, err := t.choose(hello)
	if err != nil {
		return ""
	}
	return firstName(c)
}

func firstName(c *tls.Certificate) string {
	if names := certs.NamesOf(c); len(names) != 0 {
		return names[0]
	}
	return ""
}

func versionRange(lowest, highest config.TLSVersion) string {
	if lowest == highest {
		return string(lowest)
	}
	return string(lowest) + "-" + string(highest)
}

// tlsSetting returns the setting by which TLS with the client ends: of the route, or of the listener.
func (e *explainer) tlsSetting(to routing) string {
	if i := e.routeIndex(to); i >= 0 && to.termination != e.settings.termination {
		return fmt.Sprintf("routes[%d].tls", i)
	}
	return "tls"
}

// noneChosen stands for no server.
const noneChosen = -1

// pick lets the policy choose of what there is now. It returns the index in the group, or noneChosen.
func (e *explainer) pick(b *stats.ExplainedBackend, v *backendView, group *balance.Group) int {
	queued, size := int64(0), int64(v.settings.Queue.Size)
	if shared := e.proxy.backends.find(v.Backend); shared != nil {
		queued = shared.queued.Load()
	}
	b.Limits = []stats.ExplainedLimit{{
		Setting: "max_connections", Of: "backend " + v.Name, Now: int64(v.Load.N()), Limit: int64(v.Load.Limit()),
		Origin: e.origin(below(v.path, "max_connections")),
	}}
	if !e.shared.isUDP() {
		b.Limits = append(b.Limits, stats.ExplainedLimit{
			Setting: "queue.size", Of: "backend " + v.Name, Now: queued, Limit: size,
			Origin: e.origin(below(v.path, "queue.size")),
		})
	}
	i, err := noneChosen, balance.ErrFull
	paused := v.Paused()
	switch {
	case paused:
		err = errPaused
	case !b.Limits[0].Full():
		var picker balance.Picker
		i, err = picker.Pick(group, &balance.Request{ClientAddr: unmapped(e.client.Address).Addr()})
	}
	held := errors.Is(err, balance.ErrNoServer) && (paused || v.settings.Hold > 0) && !e.shared.isUDP()
	switch full := held || errors.Is(err, balance.ErrFull); {
	case err == nil && (queued == 0 || e.shared.isUDP()):
		b.Outcome = stats.OutcomeForward
		return i
	case err == nil:
		b.Outcome, b.Reason = stats.OutcomeQueue, "others wait"
		return i
	case held && queued < size && paused:
		b.Outcome, b.Reason = stats.OutcomeQueue, "the backend is paused"
	case held && queued < size:
		b.Outcome, b.Reason = stats.OutcomeQueue, "it is held: there is no server"
	case full && queued < size && !e.shared.isUDP():
		b.Outcome, b.Reason = stats.OutcomeQueue, "there is no room, or the health of no server is known yet"
	case full:
		b.Outcome, b.Reason = stats.OutcomeRefuse, reasonQueueFull.String()
	default:
		b.Outcome, b.Reason = stats.OutcomeRefuse, reasonNoneAvailable.String()
	}
	return noneChosen
}

// stickyServer returns the server that the client stays at, if that can be chosen now.
func (e *explainer) stickyServer(b *stats.ExplainedBackend, v *backendView) int {
	t := e.proxy.backends.find(v.Backend).stickyTable()
	server := t.find(unmapped(e.client.Address).Addr(), e.proxy.now())
	if server == nil {
		return noneChosen
	}
	b.Sticky = server.String()
	i, in := v.group.Index(*server)
	var picker balance.Picker
	if !in || b.Outcome != stats.OutcomeForward {
		return noneChosen
	}
	taken, _ := picker.Take(v.group.Snapshot(), i, &balance.Request{})
	if !taken {
		return noneChosen
	}
	return i
}

// clientTLS says what becomes of the TLS of the client.
func (e *explainer) clientTLS(to routing) string {
	switch {
	case to.termination != nil:
		return "terminated"
	case e.client.TLS:
		return "passed on"
	}
	return "none"
}

// serverName returns the name that a server is asked for by TLS, or "" without TLS.
func (e *explainer) serverName(to routing, v *backendView, server *upstream.Server) string {
	if v.keys == nil || server.Plain() {
		return ""
	}
	switch name := v.settings.TLS.ServerName; {
	case name == ".":
		return "-"
	case name != "":
		return name
	case to.termination != nil && e.client.SNI != "":
		return normalizedName(e.client.SNI)
	}
	return server.Host()
}

// listTimeouts lists the timeouts of a connection with a backend.
func (e *explainer) listTimeouts(b *stats.ExplainedBackend, to routing, v *backendView) {
	s := v.settings
	add := func(setting string, d time.Duration, from string) {
		b.Timeouts = append(b.Timeouts, stats.ExplainedTimeout{
			Setting: setting, Seconds: stats.Of(d), Origin: e.origin(from),
		})
	}
	lifetime, fromLifetime := s.Lifetime, below(v.path, "lifetime")
	idle, fromIdle := s.IdleTimeout, below(v.path, "idle_timeout")
	if i := e.routeIndex(to); i >= 0 {
		if d := to.route.limits.idle; d != 0 {
			idle, fromIdle = d, below(e.path, fmt.Sprintf("routes[%d].idle_timeout", i))
		}
		if d := to.route.limits.lifetime; d != 0 {
			lifetime, fromLifetime = d, below(e.path, fmt.Sprintf("routes[%d].lifetime", i))
		}
	}
	if u := e.settings.udp; u != nil {
		add("idle_timeout", u.Idle, below(e.path, "udp.idle_timeout"))
		add("lifetime", lifetime, fromLifetime)
		return
	}
	if to.termination != nil {
		add("client_handshake_timeout", to.termination.config.HandshakeTimeout,
			below(e.path, e.tlsSetting(to)+".handshake_timeout"))
	}
	switch {
	case s.Hold > 0:
		add("hold", s.Hold, below(v.path, "hold"))
	case s.Queue.Size > 0 && v.Paused():
		add("pause", upstream.PauseWait, "")
	case s.Queue.Size > 0:
		add("queue.timeout", s.Queue.Timeout, below(v.path, "queue.timeout"))
	}
	add("connect_timeout", s.ConnectTimeout, below(v.path, "connect_timeout"))
	add("total_connect_timeout", s.TotalConnectTimeout, below(v.path, "total_connect_timeout"))
	if v.keys != nil {
		add("server_handshake_timeout", s.TLS.HandshakeTimeout, below(v.path, "tls.handshake_timeout"))
	}
	add("first_byte_timeout", s.FirstByteTimeout, below(v.path, "first_byte_timeout"))
	add("idle_timeout", idle, fromIdle)
	add("half_close_timeout", s.HalfCloseTimeout, below(v.path, "half_close_timeout"))
	add("lifetime", lifetime, fromLifetime)
	if s.UserTimeout != 0 {
		add("user_timeout", s.UserTimeout, below(v.path, "user_timeout"))
	}
}

// routeIndex returns the index of the route in the listener, or -1.
func (e *explainer) routeIndex(to routing) int {
	for i := range e.settings.router.routes {
		if &e.settings.router.routes[i] == to.route {
			return i
		}
	}
	return -1
}

// below returns the path of a setting below path, or "" if that is unknown.
func below(path, setting string) string {
	if path == "" {
		return ""
	}
	return path + "." + setting
}
