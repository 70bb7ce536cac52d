package convert

import (
	"slices"
	"strconv"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
)

// hapCriterion is the words of a criterion of an ACL: a sample, flags and values.
type hapCriterion struct {
	at    *hapLine
	words []string
}

// hapTerm is a term of a condition: one of several matches, or its opposite.
type hapTerm struct {
	matches []match
	not     bool
	why     string // why it cannot be said, or ""
	rate    *hapRate
}

// hapRate is a condition on the rate of a client.
type hapRate struct {
	op    string
	value int
	kind  string // conn_rate, conn_cur, …
}

// always returns a condition that every client matches.
func always() []match { return []match{{}} }

// condition returns the terms of each alternative of a condition: words after "if" or "unless".
func (p *hapProxy) condition(l *hapLine, words []string) (branches [][]hapTerm) {
	branch, not := []hapTerm{}, false
	for i := 0; i < len(words); i++ {
		word := words[i]
		for strings.HasPrefix(word, "!") {
			not, word = !not, word[1:]
		}
		switch word {
		case "":
			continue
		case "||", "or", "OR":
			branches = append(branches, branch)
			branch = []hapTerm{}
			continue
		case "{":
			end := slices.Index(words[i:], "}")
			if end < 0 {
				return append(branches, append(branch, hapTerm{why: "a brace is not closed"}))
			}
			t := p.criterion(hapCriterion{l, words[i+1 : i+end]})
			t.not = t.not != not
			branch = append(branch, t)
			i += end
		default:
			t := p.named(word)
			t.not = t.not != not
			branch = append(branch, t)
		}
		not = false
	}
	return append(branches, branch)
}

// named returns the term of an ACL by its name.
func (p *hapProxy) named(name string) hapTerm {
	switch strings.ToUpper(name) {
	case "TRUE", "WAIT_END", "REQ_CONTENT":
		return hapTerm{matches: always()}
	case "FALSE":
		return hapTerm{matches: nil}
	case "HTTP":
		return hapTerm{matches: []match{{transport: config.RawTransport}}}
	case "LOCALHOST":
		loopback, _ := parseNetwork("127.0.0.0/8")
		return hapTerm{matches: []match{{src: []config.Prefix{loopback}}}}
	}
	criteria, ok := p.acls[name]
	if !ok {
		return hapTerm{why: "there is no acl " + name}
	}
	all := hapTerm{}
	for _, c := range criteria {
		t := p.criterion(c)
		if t.why != "" || t.rate != nil {
			return t
		}
		all.matches = append(all.matches, t.matches...)
	}
	return all
}

// criterion returns the term of a criterion.
func (p *hapProxy) criterion(c hapCriterion) hapTerm {
	if len(c.words) == 0 {
		return hapTerm{why: "there is no criterion"}
	}
	sample := strings.ReplaceAll(c.words[0], "req_ssl_", "req.ssl_")
	sample, method := cutMethod(sample)
	v := hapValues{p: p, at: c.at, method: method}
	v.read(c.words[1:])
	if v.why != "" {
		return hapTerm{why: v.why}
	}
	name, _, _ := strings.Cut(sample, "(")
	switch sample, _, _ = strings.Cut(sample, ","); {
	case sample == "always_true":
		return hapTerm{matches: always()}
	case sample == "always_false":
		return hapTerm{}
	case sample == "req.ssl_sni" || sample == "ssl_fc_sni":
		return v.names()
	case sample == "req.ssl_alpn" || sample == "ssl_fc_alpn":
		return v.protocols()
	case sample == "req.ssl_hello_type":
		return hapTerm{matches: []match{{transport: config.TLSTransport}}, not: !slices.Contains(v.values, "1")}
	case sample == "req.proto_http" || sample == "req_proto_http":
		return hapTerm{matches: []match{{transport: config.RawTransport}}}
	case sample == "ssl_fc":
		return hapTerm{matches: always()}
	case sample == "req.len" || sample == "req_len":
		return hapTerm{matches: always()}
	case sample == "src" || sample == "dst":
		return v.networks(sample)
	case sample == "dst_port":
		return v.ports()
	case strings.HasPrefix(sample, "src_conn_") || strings.HasPrefix(sample, "src_sess_") ||
		strings.HasPrefix(name, "sc0_") || strings.HasPrefix(name, "sc_") || strings.HasPrefix(name, "sc1_") ||
		strings.HasPrefix(name, "sc2_"):
		return v.rate(name)
	}
	return hapTerm{why: "routes choose by sni, alpn, transport, sources, destinations and destination_ports, and not " +
		"by " +
		clip(c.words[0])}
}

// cutMethod returns the method of a sample with a suffix, such as req.ssl_sni_end, or "".
func cutMethod(sample string) (rest, method string) {
	for _, m := range []string{"beg", "end", "sub", "reg", "dom", "dir", "len"} {
		if rest, ok := strings.CutSuffix(sample, "_"+m); ok {
			return rest, m
		}
	}
	return sample, ""
}

// hapValues is the flags and values of a criterion.
type hapValues struct {
	p      *hapProxy
	at     *hapLine
	method string
	op     string // gt, ge, lt, le
	values []string
	why    string
}

func (v *hapValues) read(words []string) {
	flags := true
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case flags && word == "--":
			flags = false
		case flags && (word == "-i" || word == "-n" || word == "-u"):
		case flags && word == "-m" && i+1 < len(words):
			v.method = words[i+1]
			i++
		case flags && word == "-f" && i+1 < len(words):
			v.file(words[i+1])
			i++
		case flags && word == "-M":
			v.why = "a map has no counterpart: write its entries as routes"
		case word == "eq":
		case (word == "gt" || word == "ge" || word == "lt" || word == "le") && i+1 < len(words):
			v.op = word
		default:
			v.values = append(v.values, word)
		}
	}
}

// file reads values from a file, one a line.
func (v *hapValues) file(name string) {
	text, err := v.p.h.readFile(name)
	if err != nil {
		v.why = "the file " + clip(name) + " cannot be read here"
		return
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			v.values = append(v.values, line)
		}
	}
	v.p.h.add(v.at.place, "-f "+name, Differs, "", "the values that are in the file now; a set "+
		"with files would follow it: see sets in docs/configuration.md")
}

// names returns a condition on the server name.
func (v *hapValues) names() hapTerm {
	m := match{sni: []string{}}
	add := func(names ...string) {
		for _, name := range names {
			if !slices.Contains(m.sni, name) {
				m.sni = append(m.sni, name)
			}
		}
	}
	for _, value := range v.values {
		lower := strings.ToLower(value)
		switch v.method {
		case "", "str":
			add(lower)
		case "end":
			if below, ok := strings.CutPrefix(lower, "."); ok {
				add("*." + below)
			} else {
				add(lower, "*."+lower)
				v.p.h.add(v.at.place, value, Differs, "sni", "names that only end with it, as in x%s, do not match", lower)
			}
		case "dom":
			add(lower, "*."+lower)
			v.p.h.add(v.at.place, value, Differs, "sni", "it matches at the end of the name only")
		case "reg":
			names, ok := namesOf(value)
			if !ok {
				return hapTerm{why: "the pattern " + clip(value) + " is not a list of names: sni is NAME or *.NAME"}
			}
			add(names...)
		case "found":
			return hapTerm{matches: []match{{transport: config.TLSTransport}}}
		default:
			return hapTerm{why: "sni is NAME or *.NAME"}
		}
	}
	if v.method == "found" {
		return hapTerm{why: "that a client has sent a name is no condition of a route: write transport: tls"}
	}
	for _, name := range m.sni {
		if !isName(strings.TrimPrefix(name, "*.")) {
			return hapTerm{why: clip(name) + " is not the name of a server"}
		}
	}
	return hapTerm{matches: []match{m}}
}

// protocols returns a condition on ALPN.
func (v *hapValues) protocols() hapTerm {
	if v.method != "" && v.method != "str" && v.method != "sub" {
		return hapTerm{why: "alpn is a list of protocols"}
	}
	return hapTerm{matches: []match{{alpn: append([]string{}, v.values...)}}}
}

// networks returns a condition on an address.
func (v *hapValues) networks(sample string) hapTerm {
	list := []config.Prefix{}
	for _, value := range v.values {
		value, _, _ = strings.Cut(value, " ")
		n, ok := parseNetwork(value)
		if !ok {
			return hapTerm{why: clip(value) + " is not a network"}
		}
		list = append(list, n)
	}
	if sample == "src" {
		return hapTerm{matches: []match{{src: list}}}
	}
	return hapTerm{matches: []match{{dst: list}}}
}

// maxPorts limits the ports of a condition, which are written one by one.
const maxPorts = 1024

// ports returns a condition on the destination port.
func (v *hapValues) ports() hapTerm {
	m := match{ports: []int{}}
	for _, value := range v.values {
		from, to, isRange := strings.Cut(value, ":")
		first, ok := number(from)
		last := first
		if isRange {
			var valid bool
			last, valid = number(to)
			ok = ok && valid
		}
		switch v.op {
		case "gt":
			first, last = first+1, 65535
		case "ge":
			last = 65535
		case "lt":
			first, last = 1, first-1
		case "le":
			first = 1
			last, _ = number(from)
		}
		if !ok || last > 65535 || last-first >= maxPorts {
			return hapTerm{why: "destination_ports is a list of at most " + strconv.Itoa(maxPorts) + " ports"}
		}
		for port := max(first, 1); port <= last; port++ {
			m.ports = append(m.ports, port)
		}
	}
	return hapTerm{matches: []match{m}}
}

// rate returns a condition on a rate of a stick table.
func (v *hapValues) rate(name string) hapTerm {
	_, kind, _ := strings.Cut(name, "_")
	n, ok := 0, len(v.values) == 1
	if ok {
		n, ok = number(v.values[0])
	}
	if !ok {
		return hapTerm{why: "the rate is not a number"}
	}
	return hapTerm{rate: &hapRate{v.op, n, kind}}
}

// alternatives returns the matches of a condition, or why they cannot be said.
func alternatives(branches [][]hapTerm) (all []match, why string) {
	for _, branch := range branches {
		matches := always()
		for _, t := range branch {
			positive, why := t.positive()
			if why != "" {
				return nil, why
			}
			matches = product(matches, positive)
		}
		all = append(all, matches...)
	}
	return all, ""
}

// positive returns the matches of a term.
func (t *hapTerm) positive() ([]match, string) {
	switch {
	case t.why != "":
		return nil, t.why
	case t.rate != nil:
		return nil, "a route does not depend on rates: write source_rate"
	case !t.not:
		return t.matches, ""
	case len(t.matches) == 0: // not FALSE
		return always(), ""
	case len(t.matches) == 1 && t.matches[0].isAny(): // not TRUE
		return nil, ""
	case len(t.matches) == 1 && t.matches[0].onlyTransport():
		return []match{{transport: otherTransport(t.matches[0].transport)}}, ""
	}
	return nil, "a route cannot have a condition that must not hold: write a route for what matches before it"
}

func otherTransport(t config.Transport) config.Transport {
	if t == config.TLSTransport {
		return config.RawTransport
	}
	return config.TLSTransport
}
