package convert

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// ngTarget is where a value of proxy_pass leads, under a condition.
type ngTarget struct {
	match

	to     string // an upstream or an address; "": nowhere
	weight int    // of a split; 0: it is none
}

// ngConditions makes a condition of a key of a map, by the variable that the map looks at.
var ngConditions = map[string]func(n *nginx, m, d *ngDirective) (match, string){
	"ssl_preread_server_name":    (*nginx).nameCondition,
	"ssl_server_name":            (*nginx).nameCondition,
	"ssl_preread_alpn_protocols": (*nginx).protocolCondition,
	"ssl_preread_protocol":       (*nginx).transportCondition,
	"server_port":                (*nginx).portCondition,
	"remote_addr":                (*nginx).sourceCondition,
	"binary_remote_addr":         (*nginx).sourceCondition,
	"proxy_protocol_addr":        (*nginx).sourceCondition,
}

// targets returns where a value leads, in the order in which conditions are tried. The last one is the rest.
func (n *nginx) targets(value string, depth int) (all []ngTarget, why string) {
	before, variable, after, found := cutVariable(value)
	if !found {
		return []ngTarget{{to: value}}, ""
	}
	m := n.maps[variable]
	if m == nil || depth > 8 || strings.Contains(after, "$") {
		return nil, "the server depends on $" + variable + ": a route names its backend"
	}
	if m.name() == "split_clients" {
		return n.split(m, before, after)
	}
	entries, why := n.entries(m)
	if why != "" {
		return nil, why
	}
	for _, e := range entries {
		below, why := n.targets(before+e.to+after, depth+1)
		if before+e.to+after == before+after && e.to == "" {
			below, why = []ngTarget{{}}, "" // an empty value leads nowhere
		}
		if why != "" {
			return nil, why
		}
		for _, t := range below {
			t.match = e.and(t.match)
			if t.possible() && len(all) < maxNames {
				all = append(all, t)
			}
		}
	}
	n.done(m, "routes")
	return all, ""
}

// cutVariable splits a value around its first variable.
func cutVariable(value string) (before, name, after string, found bool) {
	before, rest, found := strings.Cut(value, "$")
	if !found {
		return value, "", "", false
	}
	if inside, ok := strings.CutPrefix(rest, "{"); ok {
		name, after, _ = strings.Cut(inside, "}")
		return before, name, after, true
	}
	n := 0
	for n < len(rest) && isNameByte(rest[n]) {
		n++
	}
	return before, rest[:n], rest[n:], true
}

// entries returns the entries of a map or of geo, in the order in which they are tried.
func (n *nginx) entries(m *ngDirective) (all []ngTarget, why string) {
	variable := "remote_addr"
	if m.name() == "map" || len(m.words) > 2 {
		variable = strings.Trim(m.arg(1), "${}")
	}
	condition := ngConditions[variable]
	if condition == nil {
		return nil, "routes do not depend on " + clip(m.arg(1))
	}
	rest := ngTarget{}
	var ranks []int
	for _, d := range m.block {
		switch key := d.name(); {
		case key == "hostnames" && len(d.words) == 1, key == "volatile" && len(d.words) == 1:
			n.unneeded(d, "names are compared as names")
		case key == "default" && len(d.words) == 2:
			rest.to = d.arg(1)
			n.done(d, "backend of the listener")
		case len(d.words) != 2:
			n.leftOut(d, "it is not an entry of a map")
		default:
			c, why := condition(n, m, d)
			if why != "" {
				n.leftOut(d, "%s", why)
				continue
			}
			n.done(d, "routes")
			at := len(all)
			rank := ngRank(key, c)
			for at > 0 && ranks[at-1] > rank {
				at--
			}
			all = slices.Insert(all, at, ngTarget{match: c, to: d.arg(1)})
			ranks = slices.Insert(ranks, at, rank)
		}
	}
	return append(all, rest), ""
}

// ngRank orders the keys of a map: exact ones, then wildcards and networks, the longest first, then patterns.
func ngRank(key string, c match) int {
	switch {
	case strings.HasPrefix(key, "~"):
		return math.MaxInt
	case len(c.src) == 1:
		return 200 - c.src[0].Bits()
	case strings.HasPrefix(key, "*."), strings.HasPrefix(key, "."):
		return 1000 - min(len(key), 900)
	}
	return 0
}

func (n *nginx) nameCondition(m, d *ngDirective) (match, string) {
	key := strings.ToLower(strings.TrimPrefix(d.name(), `\`))
	hostnames := slices.ContainsFunc(m.block, func(d *ngDirective) bool { return d.name() == "hostnames" })
	switch {
	case strings.HasPrefix(key, "~"):
		names, ok := namesOf(strings.TrimPrefix(d.name(), "~"))
		if strings.HasPrefix(key, "~*") {
			names, ok = namesOf("(?i)" + strings.TrimPrefix(d.name(), "~*"))
		}
		if !ok {
			return match{}, "the pattern is not a list of names: sni is NAME or *.NAME"
		}
		return match{sni: names}, ""
	case key == "":
		return match{}, "that a client sends no name is no condition of a route: it is a part of the default"
	case strings.HasPrefix(key, "*.") || strings.HasPrefix(key, "."):
		below := strings.TrimLeft(key, "*.")
		if !hostnames {
			return match{}, "without hostnames it never matches"
		}
		if !isName(below) {
			return match{}, "sni is NAME or *.NAME"
		}
		if key[0] == '.' {
			return match{sni: []string{below, "*." + below}}, ""
		}
		return match{sni: []string{"*." + below}}, ""
	case !isName(key):
		return match{}, "sni is NAME or *.NAME"
	}
	return match{sni: []string{key}}, ""
}

func (n *nginx) protocolCondition(_, d *ngDirective) (match, string) {
	key, pattern := strings.CutPrefix(strings.TrimPrefix(d.name(), "~*"), "~")
	if pattern || key != d.name() {
		key = strings.NewReplacer(`\b`, "", "^", "", "$", "", `\.`, ".", "(", "", ")", "", `\/`, "/").Replace(key)
		if strings.ContainsAny(key, `\.*+?[]|{}`) && key != "http/1.1" {
			return match{}, "alpn is a list of protocols"
		}
	}
	if key == "" {
		return match{}, "that a client offers no protocol is no condition of a route"
	}
	if strings.Contains(key, ",") {
		n.differs(d, "alpn", "a client matches that offers one of them")
	}
	return match{alpn: strings.Split(key, ",")}, ""
}

func (n *nginx) transportCondition(_, d *ngDirective) (match, string) {
	switch key := d.name(); {
	case key == "":
		return match{transport: config.RawTransport}, ""
	case strings.HasPrefix(key, "TLS"), strings.HasPrefix(key, "~") && strings.Contains(key, "TLS"):
		return match{transport: config.TLSTransport}, ""
	}
	return match{}, "transport is tls, raw or any"
}

func (n *nginx) portCondition(_, d *ngDirective) (match, string) {
	port, ok := number(d.name())
	if !ok || port == 0 || port > math.MaxUint16 {
		return match{}, "destination_ports is a list of ports"
	}
	return match{ports: []int{port}}, ""
}

func (n *nginx) sourceCondition(_, d *ngDirective) (match, string) {
	network, ok := parseNetwork(d.name())
	if !ok {
		return match{}, "sources is a list of networks"
	}
	return match{src: []config.Prefix{network}}, ""
}

// split returns the shares of split_clients.
func (n *nginx) split(m *ngDirective, before, after string) (all []ngTarget, why string) {
	left := 10000
	for _, d := range m.block {
		share := left
		if d.name() != "*" {
			percent, err := strconv.ParseFloat(strings.TrimSuffix(d.name(), "%"), 64)
			if err != nil || percent < 0 || percent > 100 {
				n.leftOut(d, "it is not a share")
				continue
			}
			share = min(int(math.Round(percent*100)), left)
		}
		left -= share
		if strings.Contains(d.arg(1), "$") {
			return nil, "a share leads to one backend"
		}
		all = append(all, ngTarget{to: before + d.arg(1) + after, weight: cmp.Or(share, 0)})
		n.done(d, "routes.backends")
	}
	n.differs(m, "routes.backends", "each connection is drawn at random, and not by the client")
	return all, ""
}
