package accesslog

import (
	"net/netip"
	"strconv"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy/tlscause"
)

// tcplog formats records like HAProxy's `option tcplog`:
//
//	CLIENT:PORT [ACCEPTED] FRONTEND BACKEND/SERVER Tw/Tc/Tt BYTES CODE ACT/FE/BE/SRV/RETRIES SRVQ/BACKQ
//
// A line of a connection whose TLS has failed ends with " tls:CAUSE". HAProxy writes no such line for a handshake with
// a client, but a sentence, and none of its codes names TLS.
//
// Times are milliseconds. A listener is a frontend; "~" after its name says that TLS is terminated here. A line of an
// open connection has "+" before the total time and the bytes, as with `option logasap`.
type tcplog struct{ accepted clock }

// noServerText is HAProxy's placeholder for the name of a server that was not chosen.
const noServerText = "<NOSRV>"

func (*tcplog) wants(string) bool { return false }

func (t *tcplog) append(line []byte, r *Record) []byte {
	line = appendPeer(line, r)
	line = append(line, " ["...)
	line = t.accepted.append(line, r.Accepted, 3)
	line = append(line, "] "...)
	line = appendEscaped(line, r.Listener)
	if r.TLS.Version != 0 {
		line = append(line, '~')
	}
	line = append(line, ' ')
	backend, server := r.Backend, r.Server
	if backend == "" {
		backend = r.Listener
	}
	line = append(appendEscaped(line, backend), '/')
	if server == "" {
		line = append(line, noServerText...)
	} else {
		line = appendEscaped(line, server)
	}
	line = append(line, ' ')
	line = append(appendWholeMilliseconds(line, r.Phases[Queue]), '/')
	line = append(appendWholeMilliseconds(line, r.Phases[Connect]), '/')
	plus := func() {
		if r.Interim {
			line = append(line, '+')
		}
	}
	plus()
	line = append(appendWholeMilliseconds(line, r.Total), ' ')
	plus()
	line = append(strconv.AppendUint(line, r.Bytes[1], 10), ' ')
	line = append(append(line, r.End.Code...), ' ')
	own := 0 // HAProxy no longer counts the connection itself, except for its listener
	if !r.Interim && r.Server != "" {
		own = 1
	}
	for _, n := range []int{
		r.Connections, r.ListenerConnections, max(r.BackendConnections-own, 0), max(r.ServerConnections-own, 0),
	} {
		line = append(strconv.AppendInt(line, int64(n), 10), '/')
	}
	if r.Retries > 0 {
		line = append(line, '+') // with another server
	}
	line = append(strconv.AppendInt(line, int64(r.Retries), 10), " 0/"...)
	line = strconv.AppendInt(line, int64(r.QueuedPos), 10)
	if r.TLSCause != tlscause.None {
		line = append(append(line, " tls:"...), r.TLSCause.String()...)
	}
	return append(line, '\n')
}

// appendPeer appends the client like HAProxy, without brackets.
func appendPeer(line []byte, r *Record) []byte {
	if !r.Client.IsValid() || r.Client.Addr() == (netip.Addr{}) {
		return append(line, "unix:1"...)
	}
	line = append(r.Client.Addr().AppendTo(line), ':')
	return strconv.AppendUint(line, uint64(r.Client.Port()), 10)
}

func appendWholeMilliseconds(line []byte, d time.Duration) []byte {
	if d < 0 {
		return append(line, "-1"...)
	}
	return strconv.AppendInt(line, d.Milliseconds(), 10)
}
