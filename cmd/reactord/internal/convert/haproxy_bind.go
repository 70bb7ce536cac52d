package convert

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

var errNoFiles = errors.New("files are not read")

// hapBind is an address of a bind line with its options.
type hapBind struct {
	at      *hapLine
	address config.Address
	name    string
	socket  config.Socket
	tls     hapTLS
	accept  bool // accept-proxy
	maxconn int
}

// bindUnneeded has options of a bind line without which nothing is missing, with the number of their values.
var bindUnneeded = map[string]struct {
	values int
	why    string
}{
	"defer-accept": {0, "connections without a byte cost little"},
	"nice":         {1, "loops are fair to all connections"}, "process": {1, "each loop accepts"},
	"thread": {1, "each loop accepts"}, "shards": {1, "each loop has its own socket"}, "id": {1, "a number of HAProxy"},
	"expose-fd": {1, "an upgrade hands sockets over by itself"}, "level": {1, "of the stats socket"},
	"severity-output": {1, "of the stats socket"}, "proto": {1, "bytes are passed on unread"},
	"guid": {1, "a number of HAProxy"},
}

// bindLeftOut has options that have no counterpart.
var bindLeftOut = map[string]struct {
	values int
	why    string
}{
	"accept-netscaler-cip": {1, "only the PROXY protocol is read"},
	"namespace":            {1, "start a process in the network namespace"},
	"tcp-md5sig":           {1, "the kernel option is not set"},
	"idle-ping":            {1, "HTTP only"},
}

// binds returns the listening addresses of a bind line.
func (h *haproxy) binds(l *hapLine) (all []hapBind) {
	b := hapBind{at: l, socket: config.NewListener().Socket}
	v6only := false
	for words := l.rest(2); len(words) > 0; {
		taken := h.bindWord(l, &b, words, &v6only)
		if taken == 0 {
			h.wordLeftOut(l, words[0], "the word is unknown, or has no counterpart")
			taken = 1
		}
		words = words[min(taken, len(words)):]
	}
	for text := range strings.SplitSeq(l.word(1), ",") {
		a, problem := hapAddress(text, b.name)
		if problem != "" {
			h.wordLeftOut(l, "bind "+text, "%s", problem)
			continue
		}
		one := b
		one.address = a
		one.socket.IPv6Only = v6only && a.Host == "::"
		if a.Path != "" && !strings.HasPrefix(a.Path, "@") {
			h.unixOwner(&one.socket)
		}
		if strings.HasPrefix(a.Path, "@") {
			h.differs(l, "address", "HAProxy fills the name of an abstract socket up with zero bytes, reactord does not: "+
				"clients of it must change")
		}
		if a.FD != "" {
			h.supply(l, "address", "the socket comes from the service manager: FileDescriptorName=%s in its socket "+
				"unit", a.FD)
		}
		all = append(all, one)
	}
	if len(all) > 0 {
		h.done(l, "address of a listener")
	}
	return all
}

// unixOwner fills in what unix-bind says.
func (h *haproxy) unixOwner(s *config.Socket) {
	if mode, err := config.ParseFileMode(h.global.unixMode); err == nil && s.Mode == config.NewListener().Socket.Mode {
		s.Mode = mode
	}
	if s.Owner == "" {
		s.Owner = h.global.unixOwner
	}
	if s.Group == "" {
		s.Group = h.global.unixGroup
	}
}

// bindWord reads an option, and returns how many words it took.
func (h *haproxy) bindWord(l *hapLine, b *hapBind, words []string, v6only *bool) int {
	value := ""
	if len(words) > 1 {
		value = words[1]
	}
	n, isNumber := number(value)
	switch words[0] {
	case "name":
		b.name = value
	case "accept-proxy":
		b.accept = true
		return 1
	case "v4v6":
		*v6only = false
		return 1
	case "v6only":
		*v6only = true
		return 1
	case "transparent":
		b.socket.FreeBind = true
		h.add(l.place, words[0], Differs, "socket.free_bind", "the listener may have an address that the machine does not "+
			"have, but takes no connections to other addresses (TPROXY)")
		return 1
	case "tfo":
		b.socket.FastOpen = 1024
		return 1
	case "interface":
		b.socket.Interface = value
	case "mss":
		b.socket.MSS = n
	case "tos":
		if tos, err := strconv.ParseUint(value, 0, 8); err == nil {
			b.socket.TOS = int(tos)
		}
	case "backlog":
		b.socket.Backlog = n
	case "maxconn":
		b.maxconn = n
	case "mode":
		if mode, err := config.ParseFileMode(value); err == nil {
			b.socket.Mode = mode
		}
		return 2
	case "user", "uid":
		b.socket.Owner = value
		return 2
	case "group", "gid":
		b.socket.Group = value
		return 2
	case "tcp-ut":
		h.wordLeftOut(l, "tcp-ut "+value, "write user_timeout below the backend: it is for both sides")
		return 2
	default:
		return h.rareBindWord(l, b, words, value)
	}
	if strings.Contains(" mss backlog maxconn ", " "+words[0]+" ") && !isNumber {
		h.wordLeftOut(l, words[0]+" "+value, "the value is not valid")
	}
	return 2
}

func (h *haproxy) rareBindWord(l *hapLine, b *hapBind, words []string, value string) int {
	if w, ok := bindUnneeded[words[0]]; ok {
		h.add(l.place, words[0], Unneeded, "", "%s", w.why)
		return 1 + w.values
	}
	if w, ok := bindLeftOut[words[0]]; ok {
		h.wordLeftOut(l, withValue(words[0], value, w.values), "%s", w.why)
		return 1 + w.values
	}
	if strings.HasPrefix(words[0], "quic") {
		h.wordLeftOut(l, words[0], "reactord passes QUIC on, and does not end it")
		return 2
	}
	return h.tlsWord(l, &b.tls, words)
}

// hapAddress reads the address of a bind line.
func hapAddress(text, name string) (a config.Address, problem string) {
	if text == "" {
		return a, "there is no address"
	}
	family, rest, found := strings.Cut(text, "@")
	if !found {
		family, rest = "", text
	}
	switch {
	case family == "unix", family == "" && strings.HasPrefix(rest, "/"):
		a.Path = rest
		if !strings.HasPrefix(rest, "/") {
			return a, "the path of a unix socket must be absolute"
		}
	case family == "abns" || family == "abnsz":
		a.Path = "@" + rest
	case family == "fd":
		a.FD = "fd" + validName(rest)
		if name != "" {
			a.FD = validName(name)
		}
	case family == "" || family == "ipv4" || family == "ipv6" || family == "tcp" || family == "tcp4" || family == "tcp6":
		address, ok := hostPort(rest)
		if !ok {
			return a, "the address is not valid, or has no port"
		}
		if strings.HasSuffix(family, "6") && address.Host == "0.0.0.0" {
			address.Host = "::"
		}
		a = address
	default:
		return a, "reactord has no addresses of the kind " + family
	}
	if _, err := config.ParseAddress(a.String()); err != nil {
		return a, err.Error()
	}
	return a, ""
}

// hostPort reads HOST:PORT, HOST:FIRST-LAST, :PORT or *:PORT. An IPv6 address may be without brackets: the port follows
// the last colon.
func hostPort(text string) (a config.Address, ok bool) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return a, false
	}
	host, ports := strings.Trim(text[:i], "[]"), text[i+1:]
	switch host {
	case "", "*":
		host = "0.0.0.0"
	default:
		if ip, err := netip.ParseAddr(host); err == nil {
			host = ip.Unmap().String()
		}
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	a, err := config.ParseAddress(host + ":" + ports)
	return a, err == nil && a.Port != 0
}
