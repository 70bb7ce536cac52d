package convert

import (
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// hapRule is a rule with its condition.
type hapRule struct {
	at        *hapLine
	layer     string   // connection, session or content; "" for use_backend
	action    []string // with its arguments
	condition []string // the words after if or unless; nil: none
	unless    bool
}

// parseRule splits a rule into its action and its condition.
func parseRule(l *hapLine, from int) hapRule {
	r := hapRule{at: l, action: l.rest(from)}
	for i, word := range r.action {
		if word == "if" || word == "unless" {
			r.condition, r.unless = r.action[i+1:], word == "unless"
			r.action = r.action[:i]
			break
		}
	}
	return r
}

// branches returns the terms of a rule's condition.
func (p *hapProxy) branches(r *hapRule) [][]hapTerm {
	if r.condition == nil {
		return [][]hapTerm{{}}
	}
	branches := p.condition(r.at, r.condition)
	if !r.unless {
		return branches
	}
	// not (a b or c) is (not a or not b) and not c
	all := [][]hapTerm{{}}
	for _, branch := range branches {
		var next [][]hapTerm
		for _, before := range all {
			for _, t := range branch {
				t.not = !t.not
				next = append(next, append(slices.Clone(before), t))
			}
		}
		if all = next; len(all) > maxNesting {
			return [][]hapTerm{{{why: "the condition is too long"}}}
		}
	}
	return all
}

// rule reads the words of rules.
func (p *hapProxy) rule(l *hapLine, word string) bool {
	switch word {
	case "acl":
		if name := l.word(1); name != "" {
			p.acls[name] = append(p.acls[name], hapCriterion{l, l.rest(2)})
			p.h.done(l, "the conditions that use it")
		}
	case "use_backend":
		p.uses = append(p.uses, parseRule(l, 1))
	case "tcp-request":
		r := parseRule(l, 2)
		r.layer = l.word(1)
		p.rules = append(p.rules, r)
	default:
		return false
	}
	return true
}

// hapAccess is what the rules of a frontend say.
type hapAccess struct {
	p        *hapProxy
	allow    []config.Prefix // nil: all
	deny     []config.Prefix
	trusted  []config.Prefix
	rate     config.SourceRate
	open     config.SourceConnections
	inspect  time.Duration
	refused  []match
	required []match // what the connections that are left match
	accepted []match // by content rules so far
	closed   bool    // nobody is let in
}

// access evaluates tcp-request rules.
func (p *hapProxy) access() *hapAccess {
	l := config.NewListener()
	a := &hapAccess{p: p, required: always(), rate: l.SourceRate, open: l.SourceConnections}
	for _, layer := range []string{"connection", "session", "content"} {
		accepted := []config.Prefix{}
		for i := range p.rules {
			if r := &p.rules[i]; r.layer == layer {
				a.rule(r, &accepted)
			}
		}
	}
	for i := range p.rules {
		switch r := &p.rules[i]; r.layer {
		case "inspect-delay":
			d, ok := hapTime(r.at.word(2), time.Millisecond)
			if p.h.wants(r.at, ok) {
				a.inspect = d
				p.h.differs(r.at, "inspect_timeout", "a client that has sent nothing by then is reset; HAProxy goes on with its "+
					"other rules, as for protocols in which the server speaks first")
			}
		case "connection", "session", "content":
		default:
			p.h.leftOut(r.at, "the rule is unknown")
		}
	}
	return a
}

// rule evaluates a rule. accepted has the sources that earlier rules of its layer have accepted.
func (a *hapAccess) rule(r *hapRule, accepted *[]config.Prefix) {
	action := ""
	if len(r.action) > 0 {
		action = r.action[0]
	}
	switch {
	case action == "accept" || action == "reject":
	case action == "expect-proxy":
		a.expectProxy(r)
		return
	case strings.HasPrefix(action, "track-sc"):
		a.track(r)
		return
	case action == "capture":
		a.p.h.unneeded(r.at, "the access log has the name that the client asks for: sni")
		return
	default:
		a.p.h.leftOut(r.at, "rules accept and reject, and do nothing else")
		return
	}
	branches := a.p.branches(r)
	if action == "reject" && a.rateRule(r, branches) {
		return
	}
	if action == "reject" && r.condition != nil && a.rejectOthers(r, branches) {
		return
	}
	all, why := alternatives(branches)
	switch {
	case why != "" && action == "accept":
		a.p.h.leftOut(r.at, "%s", why)
	case why != "":
		a.p.h.leftOut(r.at, "connections that it rejects are NOT rejected: %s", why)
	case r.layer == "content" && action == "accept":
		a.accepted = append(a.accepted, all...)
		a.p.h.done(r.at, "routes")
	case r.layer == "content":
		a.rejectContent(r, all)
	default:
		a.connection(r, action, all, accepted)
	}
}

// connection evaluates accept and reject by the source.
func (a *hapAccess) connection(r *hapRule, action string, all []match, accepted *[]config.Prefix) {
	for i := range all {
		switch m := &all[i]; {
		case m.isAny() && action == "accept":
			a.p.h.unneeded(r.at, "what is not rejected is accepted")
			return
		case m.isAny():
			if len(*accepted) == 0 {
				a.closed = true
			}
			a.allow = intersect(a.allow, *accepted)
			a.p.h.done(r.at, "allow")
			return
		case !m.onlySource():
			a.p.h.leftOut(r.at, "connections are allowed and denied by their source")
			return
		case action == "accept":
			*accepted = append(*accepted, m.src...)
		case overlap(*accepted, m.src):
			a.p.h.leftOut(r.at, "connections that it rejects are NOT rejected: a rule before it accepts some of them")
			return
		default:
			a.deny = appendNew(a.deny, m.src)
		}
	}
	if action == "accept" {
		a.p.h.done(r.at, "allow")
	} else {
		a.p.h.done(r.at, "deny")
	}
}

// rejectContent evaluates a content rule that rejects what matches.
func (a *hapAccess) rejectContent(r *hapRule, all []match) {
	for i := range all {
		m := &all[i]
		switch {
		case m.isAny() && len(a.accepted) == 0:
			a.closed = true
		case m.isAny():
			a.required = product(a.required, a.accepted)
		case slices.ContainsFunc(a.accepted, func(x match) bool { both := x.and(*m); return both.possible() }):
			a.p.h.leftOut(r.at, "connections that it rejects are NOT rejected: a rule before it accepts some of them")
			return
		case m.onlyTransport():
			a.required = product(a.required, []match{{transport: otherTransport(m.transport)}})
		case m.onlySource():
			a.deny = appendNew(a.deny, m.src)
		default:
			a.refused = append(a.refused, *m)
		}
	}
	a.p.h.done(r.at, "routes")
}

// rejectOthers evaluates "reject if !A", which rejects what does not match.
func (a *hapAccess) rejectOthers(r *hapRule, branches [][]hapTerm) bool {
	if len(branches) != 1 || len(branches[0]) != 1 || !branches[0][0].not || branches[0][0].why != "" ||
		branches[0][0].rate != nil || len(branches[0][0].matches) == 0 {
		return false
	}
	wanted := branches[0][0].matches
	bySource := !slices.ContainsFunc(wanted, func(m match) bool { return !m.onlySource() })
	switch {
	case bySource && len(a.accepted) == 0:
		var list []config.Prefix
		for _, m := range wanted {
			list = append(list, m.src...)
		}
		a.allow = intersect(a.allow, list)
		a.p.h.done(r.at, "allow")
	case r.layer != "content":
		return false
	default:
		a.required = product(a.required, append(wanted, a.accepted...))
		a.p.h.done(r.at, "routes")
	}
	return true
}

// rateRule evaluates "reject if { src_conn_rate gt 10 }", and the same with src_conn_cur.
func (a *hapAccess) rateRule(r *hapRule, branches [][]hapTerm) bool {
	if len(branches) == 0 || !slices.ContainsFunc(branches[0], func(t hapTerm) bool { return t.rate != nil }) {
		return false
	}
	if len(branches) != 1 || len(branches[0]) != 1 || branches[0][0].not || r.layer == "content" {
		a.p.h.leftOut(r.at, "source_rate and source_connections apply to every client of a listener, before a byte is read")
		return true
	}
	rate := branches[0][0].rate
	most := rate.value
	if rate.op == "ge" {
		most--
	}
	switch {
	case rate.kind == "conn_cur" && (rate.op == "gt" || rate.op == "ge") && most > 0:
		a.open.Max = most
		a.p.h.differs(r.at, "source_connections", "counted for each listener; an IPv6 source is a /64")
		return true
	case rate.kind != "conn_rate" && rate.kind != "sess_rate":
		a.p.h.leftOut(r.at, "sources are limited by new and by open connections: source_rate, source_connections")
		return true
	}
	period := a.p.h.tablePeriod(a.p, rate.kind)
	if period == 0 || rate.op != "gt" && rate.op != "ge" {
		a.p.h.leftOut(r.at, "the stick table with its %s is not in this file", rate.kind)
		return true
	}
	milliseconds := int(period / time.Millisecond)
	perSecond := (most*1000 + milliseconds - 1) / milliseconds
	a.rate.Connections = max(perSecond, 1)
	if most > a.rate.Connections {
		a.rate.Burst = most
	}
	a.p.h.differs(r.at, "source_rate", "a token bucket: %d in a burst, then %d a second, where HAProxy counts %d in %s",
		max(most, 1), a.rate.Connections, most, period)
	return true
}

// tablePeriod returns the period of a rate of the tables that a frontend uses, or 0.
func (h *haproxy) tablePeriod(p *hapProxy, kind string) time.Duration {
	tables := []*hapLine{p.table}
	for _, r := range p.rules {
		if i := slices.Index(r.action, "table"); i >= 0 && i+1 < len(r.action) {
			for _, other := range h.proxies {
				if other.name == r.action[i+1] {
					tables = append(tables, other.table)
				}
			}
		}
	}
	for _, l := range tables {
		if l == nil {
			continue
		}
		text := strings.Join(l.words, " ")
		_, after, found := strings.Cut(text, kind+"(")
		value, _, _ := strings.Cut(after, ")")
		if d, ok := hapTime(strings.TrimSpace(value), time.Millisecond); found && ok && d >= time.Millisecond {
			return d
		}
	}
	return 0
}

func (a *hapAccess) track(r *hapRule) {
	if len(r.action) > 1 && r.action[1] == "src" {
		a.p.h.unneeded(r.at, "source_rate and source_connections count by the source")
		return
	}
	a.p.h.leftOut(r.at, "rates are counted by the source")
}

func (a *hapAccess) expectProxy(r *hapRule) {
	all, why := alternatives(a.p.branches(r))
	for i := range all {
		switch {
		case all[i].isAny():
			a.trusted = appendNew(a.trusted, everywhere())
		case all[i].onlySource():
			a.trusted = appendNew(a.trusted, all[i].src)
		default:
			why = "PROXY headers are expected by the source"
		}
	}
	if why != "" {
		a.p.h.leftOut(r.at, "%s", why)
		return
	}
	a.p.h.differs(r.at, "proxy_protocol.trusted", "connections from elsewhere are refused, and not taken without a "+
		"header")
}

func appendNew(list, more []config.Prefix) []config.Prefix {
	for _, n := range more {
		if !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}
