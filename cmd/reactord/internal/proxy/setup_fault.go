package proxy

import (
	"crypto/x509"
	"errors"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy/tlscause"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
)

// What a client tells of itself may be why a server refuses: the name (SNI) and the protocol (ALPN) that are passed on
// in the ClientHello, and the address in the PROXY header. If such a refusal counted against the server, any client
// could have servers ejected. So once a server knows any of them, a failure is attributed to a party before it
// counts.

// fault is the party that is to blame for an attempt that failed.
type fault uint8

const (
	// faultServer: it counts against the server, and another one is tried.
	faultServer fault = iota
	// faultDisputed: one other server is tried, within half of the retry budget. If that one accepts the client, it
	// counts against the first server.
	faultDisputed
	// faultUnclear: one other server is tried in the same way, and it counts against none: servers may judge an address
	// differently.
	faultUnclear
	// faultClient: it counts against no server, and none is tried.
	faultClient
)

// suspicion is the first server of a connection that has failed, perhaps because of the client.
type suspicion struct {
	server *upstream.Server // nil if there is none
	err    error            // why it has failed; nil if that does not count against it
}

// judge returns who is to blame for err, an error of an attempt.
func (d *dial) judge(err error) fault {
	name, protocol, address := d.disclosed()
	if d.connectedAt == 0 || !name && !protocol && !address {
		return faultServer
	}
	cause := tlscause.Of(err)
	var otherHost x509.HostnameError
	switch {
	case address && cause == tlscause.Refused,
		name && errors.As(err, &otherHost),
		name && cause == tlscause.UnknownName,
		protocol && cause == tlscause.UnknownProtocol:
		return faultClient
	case cause == tlscause.Timeout && !address: // a name makes no server hang
		return faultServer
	case cause == tlscause.Timeout:
	case address:
		return d.clientIfRepeated(faultUnclear)
	case cause == tlscause.NotTLS:
		return faultServer
	}
	return d.clientIfRepeated(faultDisputed)
}

// clientIfRepeated returns faultClient if a second server has failed, else f.
func (d *dial) clientIfRepeated(f fault) fault {
	if d.suspect.server != nil {
		return faultClient
	}
	return f
}

// disclosed returns what of the client the server has been told: see [originator.config] and [dial.firstBytes].
func (d *dial) disclosed() (name, protocol, address bool) {
	c, with := d.conn, d.tlsConfig()
	address = c.config.ProxyProtocol.Version != config.NoProxy
	if c.speaksTLS(client) && c.speaksTLS(server) {
		name = with.ServerName == ""
		protocol = len(with.ALPN) == 0 && c.identity.Negotiated != ""
	}
	return name, protocol, address
}

// blame notes the failure of the server that was tried, in its counters or as a suspicion.
func (d *dial) blame(err error) {
	to := d.conn.server
	switch d.fault = d.judge(err); d.fault {
	case faultServer:
		to.Failed(err)
		return
	case faultDisputed:
		d.suspect = suspicion{to, err}
	case faultUnclear:
		d.suspect = suspicion{server: to}
	}
	to.Refused()
}

// absolve blames an earlier server that has refused the client: another one accepts it, so it was not the client's
// fault.
func (d *dial) absolve() {
	if d.suspect.err != nil {
		d.suspect.server.Blame()
	}
}
