package convert

import (
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// check makes the health checks of a backend. Those of its first server with a check are those of all.
func (h *haproxy) check(p *hapProxy, b *config.Backend) {
	i := slices.IndexFunc(p.servers, func(s hapServer) bool { return s.check })
	if i < 0 {
		for _, l := range p.checkLines {
			h.unneeded(l, "no server has a check")
		}
		for _, name := range hapChecks {
			if l := p.options[name]; l != nil {
				h.unneeded(l, "no server has a check")
			}
		}
		return
	}
	s, c := &p.servers[i], &b.Check
	c.Interval = max(s.inter, time.Millisecond)
	c.FastInterval, c.DownInterval = orElse(s.fastInter, c.Interval), s.downInter
	if c.DownInterval == c.Interval {
		c.DownInterval = 0
	}
	c.Rise, c.Fall = min(max(s.rise, 1), 1000), min(max(s.fall, 1), 1000)
	c.Port = s.checkPort
	if c.Port == firstPort(b) {
		c.Port = 0
	}
	c.Timeout = orElse(p.timeouts["check"].Duration, c.Interval)
	c.CloseOnDown = slices.ContainsFunc(p.servers, func(s hapServer) bool { return s.closeOnDown })
	switch s.init {
	case "up", "fully-up":
		c.Initial = config.InitiallyUp
	case "down", "fully-down":
		c.Initial = config.InitiallyDown
	}
	h.checkTransport(p, s, b)
	h.checkDifferences(p, s)
	h.checkProtocol(p, b)
}

// firstPort returns the port of the first server.
func firstPort(b *config.Backend) int {
	if len(b.Servers) > 0 {
		return int(b.Servers[0].Address.Port)
	}
	return 0
}

// checkTransport sets TLS and the PROXY header of checks, which HAProxy takes from the connection unless a check has
// its own port.
func (h *haproxy) checkTransport(p *hapProxy, s *hapServer, b *config.Backend) {
	c, own := &b.Check, s.checkPort != 0
	c.TLS = s.checkSSL || s.tls.on && !own
	if c.TLS && !s.checkSSL && slices.ContainsFunc(p.servers, func(s hapServer) bool { return !s.tls.on }) {
		c.TLS = false // it would fail with those
		h.add(s.at.place, "ssl", Differs, "check", "the check only connects, because not all servers speak TLS")
	}
	if c.TLS && b.TLS.Enabled && !b.TLS.Insecure && len(b.TLS.SANs) == 0 {
		c.TLSServerName = strings.TrimPrefix(b.TLS.ServerName, ".")
	}
	if s.checkSNI != "" && c.TLS && (!b.TLS.Enabled || !b.TLS.Insecure) {
		c.TLSServerName = s.checkSNI
	}
	c.Proxy = s.checkProxy || s.proxy != config.NoProxy && !own
	if c.Proxy && s.proxy == config.ProxyV1 {
		h.add(s.at.place, "send-proxy", Differs, "check.proxy", "the header of a check has version 2")
	}
}

// checkDifferences reports servers whose checks are others.
func (h *haproxy) checkDifferences(p *hapProxy, first *hapServer) {
	for i := range p.servers {
		s := &p.servers[i]
		switch {
		case !s.check:
			h.add(s.at.place, s.at.text, Differs, "check", "it is checked, as the other servers of the backend are")
		case s.inter != first.inter || s.fastInter != first.fastInter || s.downInter != first.downInter ||
			s.rise != first.rise || s.fall != first.fall || s.checkPort != first.checkPort || s.checkSSL != first.checkSSL:
			h.add(s.at.place, "check", LeftOut, "", "the check is that of the backend, and that of server %s applies",
				clip(first.name))
		}
	}
}

// checkProtocol sets what checks send and expect.
func (h *haproxy) checkProtocol(p *hapProxy, b *config.Backend) {
	c := &b.Check
	for _, name := range hapChecks {
		l := p.options[name]
		if l == nil {
			continue
		}
		switch name {
		case "tcp-check":
			h.tcpCheck(p, l, c)
		case "httpchk":
			h.httpCheck(p, l, c)
		case "redis-check":
			c.Protocol = config.CheckRedis
			h.done(l, "check.protocol")
		case "pgsql-check":
			c.Protocol, c.User = config.CheckPostgreSQL, l.word(3)
			h.done(l, "check.protocol, check.user")
		case "mysql-check":
			c.Protocol, c.User = config.CheckMySQL, l.word(3)
			h.done(l, "check.protocol, check.user")
		case "ldap-check":
			c.SendHex, c.ExpectHex = "300c020101600702010304008000", "0a0100"
			h.done(l, "check.send_hex, check.expect_hex")
		case "smtpchk":
			c.Expect = "220"
			h.differs(l, "check.expect", "the server's greeting is expected, and nothing is sent")
		case "ssl-hello-chk":
			c.TLS = true
			h.differs(l, "check.tls", "a whole TLS handshake")
		}
	}
	for _, l := range p.checkLines {
		if p.options["tcp-check"] == nil && p.options["httpchk"] == nil {
			h.unneeded(l, "no option makes use of it")
		}
	}
}

// tcpCheck converts the sequence of tcp-check. What is sent, and what is expected after it, is a step.
func (h *haproxy) tcpCheck(p *hapProxy, option *hapLine, c *config.Check) {
	var steps []config.CheckStep
	answered := true // nothing more can be added to the last step
	for _, l := range p.checkLines {
		switch word := l.word(1); {
		case l.words[0] != "tcp-check":
			h.unneeded(l, "no option makes use of it")
		case word == "connect":
			h.tcpConnect(l, c)
		case word == "send" || word == "send-binary":
			text := l.word(2)
			if word == "send-binary" {
				raw, err := hex.DecodeString(text)
				if !h.wants(l, err == nil) {
					continue
				}
				text = string(raw)
			}
			var x config.CheckStep
			x.Send, x.SendHex = textOrHex(text)
			steps, answered = append(steps, x), false
			if strings.HasPrefix(strings.ToUpper(text), "AUTH ") {
				h.differs(l, "check", "write the password as ${NAME}, a variable of the environment, so that it is not in the file")
				continue
			}
			h.done(l, "check")
		case word == "expect":
			text, ok := h.expected(l)
			if !ok {
				continue
			}
			if answered {
				steps = append(steps, config.CheckStep{})
			}
			x := &steps[len(steps)-1]
			x.Expect, x.ExpectHex = textOrHex(text)
			answered = true
			h.done(l, "check")
		case word == "comment":
			h.unneeded(l, "a text for people")
		default:
			h.leftOut(l, "a check sends and expects texts and bytes")
		}
	}
	h.done(option, "check")
	if len(steps) == 1 {
		c.Send, c.SendHex, c.Expect, c.ExpectHex = steps[0].Send, steps[0].SendHex, steps[0].Expect, steps[0].ExpectHex
	} else {
		c.Steps = steps
	}
}

// textOrHex returns a text, or its hexadecimal digits if it is binary.
func textOrHex(text string) (plain, digits string) {
	binary := !utf8.ValidString(text) ||
		strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\r' && r != '\n' && r != '\t' })
	if binary {
		return "", hex.EncodeToString([]byte(text))
	}
	return text, ""
}

func (h *haproxy) tcpConnect(l *hapLine, c *config.Check) {
	for i := 2; i < len(l.words); i++ {
		switch word := l.words[i]; word {
		case "port":
			i++
			if n, ok := number(l.word(i)); ok && n > 0 && n < 65536 {
				c.Port = n
			}
		case "ssl":
			c.TLS = true
		case "send-proxy":
			c.Proxy = true
		case "default", "linger":
		case "sni":
			i++
		default:
			h.wordLeftOut(l, word, "the word has no counterpart")
		}
	}
	h.done(l, "check")
}

// expected returns the text of "tcp-check expect". ok is false if there is none, which is reported.
func (h *haproxy) expected(l *hapLine) (text string, ok bool) {
	words := l.rest(2)
	for len(words) > 2 && words[0] != "string" && words[0] != "binary" && words[0] != "!" {
		if words[0] == "comment" || words[0] == "min-recv" || strings.HasSuffix(words[0], "-status") {
			words = words[2:]
			continue
		}
		break
	}
	if len(words) < 2 {
		return "", h.wants(l, false)
	}
	switch words[0] {
	case "string":
		return words[1], h.wants(l, words[1] != "")
	case "binary":
		raw, err := hex.DecodeString(words[1])
		return string(raw), h.wants(l, err == nil && len(raw) > 0)
	}
	h.leftOut(l, "an answer must contain a text: patterns and negations have no counterpart")
	return "", false
}

// httpCheck converts option httpchk and the http-check lines.
func (h *haproxy) httpCheck(p *hapProxy, option *hapLine, c *config.Check) {
	r := hapRequest{method: "OPTIONS", uri: "/", version: "HTTP/1.0", expect: ""}
	switch words := option.rest(2); {
	case len(words) == 1:
		r.uri = words[0]
	case len(words) > 1:
		r.method, r.uri = words[0], words[1]
		if len(words) > 2 {
			r.version = words[2]
			// HAProxy's old way to send headers: in the version.
			if version, headers, found := strings.Cut(r.version, "\r\n"); found {
				r.version = version
				r.headers = append(r.headers, strings.TrimRight(headers, "\r\n"))
			}
		}
	}
	for _, l := range p.checkLines {
		switch {
		case l.words[0] != "http-check":
			h.unneeded(l, "no option makes use of it")
		case l.word(1) == "send":
			r.send(h, l)
		case l.word(1) == "expect":
			r.expected(h, l)
		case l.word(1) == "connect":
			h.tcpConnect(l, c)
		case l.word(1) == "comment" || l.word(1) == "send-state":
			h.unneeded(l, "nothing depends on it")
		default:
			h.leftOut(l, "a check sends one text, and expects one")
		}
	}
	if r.version == "HTTP/1.1" && !slices.ContainsFunc(r.headers, func(s string) bool {
		return strings.HasPrefix(strings.ToLower(s), "connection:")
	}) {
		r.headers = append(r.headers, "Connection: close")
	}
	if r.version == "HTTP/2" || r.version == "HTTP/2.0" {
		r.version = "HTTP/1.0"
	}
	request := append([]string{r.method + " " + r.uri + " " + r.version}, r.headers...)
	c.Send, c.SendHex = textOrHex(strings.Join(request, "\r\n") + "\r\n\r\n" + r.body)
	if c.Expect = r.expect; c.Expect == "" {
		c.Expect = " 200 "
		h.differs(option, "check.send, check.expect", "only an answer with the text \" 200 \" passes, such as HTTP/1.1 200 "+
			"OK; HAProxy also takes other statuses from 200 to 399")
		return
	}
	h.done(option, "check.send, check.expect")
}

// hapRequest is the request of an HTTP check.
type hapRequest struct {
	method, uri, version, body, expect string

	headers []string
}

func (r *hapRequest) send(h *haproxy, l *hapLine) {
	for i := 2; i < len(l.words); i++ {
		value := l.word(i + 1)
		switch l.words[i] {
		case "meth":
			r.method = value
		case "uri":
			r.uri = value
		case "ver":
			r.version = value
		case "body":
			r.body = value
		case "hdr":
			r.headers = append(r.headers, value+": "+l.word(i+2))
			i++
		default:
			h.wordLeftOut(l, l.words[i], "the word has no counterpart")
			continue
		}
		i++
	}
	h.done(l, "check.send")
}

func (r *hapRequest) expected(h *haproxy, l *hapLine) {
	words := l.rest(2)
	switch {
	case len(words) == 2 && words[0] == "status" && isDigits(words[1]):
		r.expect = " " + words[1] + " "
		h.differs(l, "check.expect", "the text %q may be anywhere in the answer", r.expect)
	case len(words) == 2 && words[0] == "string":
		r.expect = words[1]
		h.done(l, "check.expect")
	case len(words) == 2 && words[0] == "rstatus" && strings.HasPrefix("200", strings.Trim(words[1], "^$().*[0-9]|")):
		h.differs(l, "check.expect", "only the status 200 passes")
	default:
		h.leftOut(l, "an answer must contain a text: patterns and negations have no counterpart")
	}
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
