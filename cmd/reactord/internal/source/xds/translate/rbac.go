package translate

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/listenerpb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/rbacpb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/xdspb"
)

// rbac reads the network filter rbac: who may use the connections of a chain. Rules about client addresses become
// networks of the route. Rules about names in client certificates become names that its TLS requires or refuses.
// Rules about both cannot be expressed by a route.
func (c *chainReader) rbac(r reading, m *listenerpb.RBAC, ch *chain) {
	who := clients{addresses: always(true)}
	judge := &judge{chainReader: c, chain: ch}
	switch {
	case m.GetMatcher() != nil && m.GetRules() != nil:
		r.refuse("rules and matcher are both set")
	case m.GetMatcher() != nil:
		who.addresses = judge.matcher(r.at("matcher"), m.GetMatcher())
	case m.GetRules() != nil:
		who = judge.rules(r.at("rules"), m.GetRules())
	}
	if who.any() {
		switch {
		case !ch.named.add(who.named):
			r.refuse("only one rbac filter may match names of clients")
		case ch.tls == nil || !ch.tls.clientAuth():
			r.refuse("it matches names of clients, but the chain's TLS does not require client certificates")
		}
	}
	if ch.who != nil {
		who.addresses = allOf{ch.who, who.addresses}
	}
	ch.who = who.addresses
	allow, deny, ok := limits(who.addresses)
	if !ok {
		r.refuse("the allowed clients need more than %d networks", maxNetworks)
	}
	ch.route.Allow, ch.route.Deny = prefixes(allow), prefixes(deny)
}

// clients has the clients that may connect: from these addresses, with a certificate for these names.
type clients struct {
	addresses addresses
	named
}

// judge evaluates the rules for the clients of a chain.
type judge struct {
	*chainReader
	chain *chain
}

// matcher reads a list of predicates, of which the first that holds decides. If none does, the client is denied.
func (j *judge) matcher(r reading, m *xdspb.Matcher) addresses {
	out := firstOf{last: always(false)}
	for i, one := range m.GetMatcherList().GetMatchers() {
		r := r.at("matcher_list.matchers[%d]", i)
		out.cases = append(out.cases, decision{
			j.predicate(r.at("predicate"), one.GetPredicate()), j.action(r.at("on_match"), one.GetOnMatch()),
		})
	}
	if m.GetOnNoMatch() != nil {
		out.last = j.action(r.at("on_no_match"), m.GetOnNoMatch())
	}
	return out
}

func (j *judge) action(r reading, m *xdspb.Matcher_OnMatch) addresses {
	if m.GetAction() == nil {
		r.refuse("action is missing; nested matchers are not supported")
		return always(false)
	}
	switch a := r.at("action").unpack(m.GetAction().GetTypedConfig()).(type) {
	case nil: // refused already
	case *rbacpb.Action:
		return always(j.allows(r.at("action"), a.GetAction()))
	default:
		r.at("action").refuse("%s is not an rbac action", a.ProtoReflect().Descriptor().FullName())
	}
	return always(false)
}

// allows reports whether an action lets a client in. Logging is left to the access log.
func (j *judge) allows(r reading, a rbacpb.RBAC_Action) bool {
	switch a {
	case rbacpb.RBAC_ALLOW, rbacpb.RBAC_LOG:
		return true
	case rbacpb.RBAC_DENY:
	default:
		r.refuse("action %d is unknown", a)
	}
	return false
}

func (j *judge) predicate(r reading, m *xdspb.Matcher_MatcherList_Predicate) addresses {
	switch by := m.GetMatchType().(type) {
	case *xdspb.Matcher_MatcherList_Predicate_SinglePredicate_:
		return j.single(r.at("single_predicate"), by.SinglePredicate)
	case *xdspb.Matcher_MatcherList_Predicate_OrMatcher:
		var all anyOf
		for i, one := range by.OrMatcher.GetPredicate() {
			all = append(all, j.predicate(r.at("or_matcher.predicate[%d]", i), one))
		}
		return all
	}
	r.refuse("predicate is not supported: write single_predicate or or_matcher")
	return always(false)
}

func (j *judge) single(r reading, m *xdspb.Matcher_MatcherList_Predicate_SinglePredicate) addresses {
	switch input := r.at("input").unpack(m.GetInput().GetTypedConfig()).(type) {
	case nil: // refused already
	case *rbacpb.SourceIPInput:
	case *rbacpb.DirectSourceIPInput:
		j.direct(r.at("input"))
	default:
		r.at("input").refuse("%s is not supported: only addresses of clients are",
			input.ProtoReflect().Descriptor().FullName())
	}
	r = r.at("custom_match")
	switch by := r.unpack(m.GetCustomMatch().GetTypedConfig()).(type) {
	case nil: // refused already
	case *rbacpb.Ip:
		return inNetworks(readNetworks(r.at("cidr_ranges"), by.GetCidrRanges()))
	default:
		r.refuse("%s is not supported: only networks are", by.ProtoReflect().Descriptor().FullName())
	}
	return always(false)
}

// direct refuses a rule about the direct peer, if a PROXY header names another client.
func (j *judge) direct(r reading) {
	r.only(!j.proxy, "not supported with proxy_protocol, whose header has the client's address")
}

// rules reads policies. When a denying policy is refused, the error states the consequence, because people rely on
// it.
func (j *judge) rules(r reading, m *rbacpb.RBAC) clients {
	before := len(*r.errs)
	by, names := j.policies(r, m)
	switch m.GetAction() {
	case rbacpb.RBAC_LOG:
		return clients{addresses: always(true)}
	case rbacpb.RBAC_DENY:
		denied, ok := denies(names)
		r.only(ok, "DENY: several lists of excepted names are not supported")
		if len(*r.errs) > before {
			r.refuse("DENY: these clients are not denied: the previous version stays in force")
		}
		return clients{not{by}, named{denied: denied}}
	case rbacpb.RBAC_ALLOW:
	default:
		r.refuse("action %d is unknown", m.GetAction())
	}
	switch {
	case names == nil:
		return clients{addresses: by}
	case slices.ContainsFunc(everywhere, func(p netip.Prefix) bool { return by.of(p) != none }):
		if everybody(by) {
			return clients{addresses: always(true)}
		}
		r.refuse("ALLOW: mixing clients allowed by address with clients allowed by name is not supported: " +
			"asks for both or for one")
		return clients{addresses: always(false)}
	}
	allowed, ok := allows(names)
	r.only(ok, "ALLOW: several lists of excepted names are not supported")
	return clients{always(true), allowed}
}

// policies returns the clients that any policy matches, by address or by name.
func (j *judge) policies(r reading, m *rbacpb.RBAC) (by anyOf, names []principalName) {
	deny := m.GetAction() == rbacpb.RBAC_DENY
	for _, name := range slices.Sorted(maps.Keys(m.GetPolicies())) {
		r, p := r.at("policies[%q]", name), m.GetPolicies()[name]
		if !j.permissions(r.at("permissions"), p.GetPermissions()) {
			continue
		}
		if len(p.GetPrincipals()) == 0 {
			r.refuse("principals are missing")
		}
		for i, one := range p.GetPrincipals() {
			r := r.at("principals[%d]", i)
			if byName(one) {
				names = append(names, readNames(r, one, deny)...)
			} else {
				by = append(by, j.principal(r, one))
			}
		}
	}
	return by, names
}

// everybody reports whether the set contains every address.
func everybody(s addresses) bool {
	return !slices.ContainsFunc(everywhere, func(p netip.Prefix) bool { return s.of(p) != all })
}

// permissions reports whether one of them holds for the connections of the chain.
func (j *judge) permissions(r reading, all []*rbacpb.Permission) bool {
	r.only(len(all) > 0, "missing")
	holds := false
	for i, p := range all {
		holds = j.permission(r.indexed(i), p) || holds
	}
	return holds
}

// permission reports whether a permission holds for all connections of the chain. One that holds for only some of
// them is refused.
func (j *judge) permission(r reading, p *rbacpb.Permission) bool {
	switch by := p.GetRule().(type) {
	case *rbacpb.Permission_Any:
		return by.Any
	case *rbacpb.Permission_NotRule:
		return !j.permission(r.at("not_rule"), by.NotRule)
	case *rbacpb.Permission_AndRules:
		holds := true
		for i, one := range by.AndRules.GetRules() {
			holds = j.permission(r.at("and_rules.rules[%d]", i), one) && holds
		}
		return holds
	case *rbacpb.Permission_OrRules:
		holds := false
		for i, one := range by.OrRules.GetRules() {
			holds = j.permission(r.at("or_rules.rules[%d]", i), one) || holds
		}
		return holds
	case *rbacpb.Permission_DestinationPort:
		return j.destination(r.at("destination_port"), func(p place) bool {
			return uint32(p.address.Port) == by.DestinationPort
		}, false)
	case *rbacpb.Permission_DestinationIp:
		network, ok := readNetwork(r.at("destination_ip"), by.DestinationIp)
		return ok && j.destination(r.at("destination_ip"), func(p place) bool {
			ip, err := netip.ParseAddr(p.address.Host)
			return err == nil && network.Contains(ip)
		}, network.Bits() > 0)
	case *rbacpb.Permission_RequestedServerName:
		return j.serverName(r.at("requested_server_name"), by.RequestedServerName)
	}
	r.refuse("permission is not supported")
	return false
}

// destination reports whether holds is true for all addresses of the listener. With specific, a listener on every
// address of the machine is refused.
func (j *judge) destination(r reading, holds func(place) bool, specific bool) bool {
	r.only(!j.proxy, "not supported with proxy_protocol, whose header has the destination")
	yes := 0
	for _, p := range j.places {
		if ip, err := netip.ParseAddr(p.address.Host); specific && err == nil && ip.IsUnspecified() {
			r.refuse("the listener is on every address: match with prefix_ranges instead")
		}
		if holds(p) {
			yes++
		}
	}
	r.only(yes == 0 || yes == len(j.places), "it applies to only some of the listener's addresses")
	return yes > 0
}

// serverName reports whether all names of the chain match.
func (j *judge) serverName(r reading, m *corepb.StringMatcher) bool {
	yes, names := 0, j.chain.match.names
	for _, name := range names {
		r.only(!strings.HasPrefix(name, "*"), "the chain has wildcard server_names")
		if matchesText(r, m, name) {
			yes++
		}
	}
	r.only(len(names) > 0, "the chain matches every name: match with server_names instead")
	r.only(yes == 0 || yes == len(names), "it applies to only some of the chain's server_names")
	return yes > 0
}

// matchesText reports whether a text matches.
func matchesText(r reading, m *corepb.StringMatcher, text string) bool {
	fold := func(s string) string { return s }
	if m.GetIgnoreCase() {
		fold = strings.ToLower
	}
	text = fold(text)
	switch by := m.GetMatchPattern().(type) {
	case *corepb.StringMatcher_Exact:
		return text == fold(by.Exact)
	case *corepb.StringMatcher_Prefix:
		return strings.HasPrefix(text, fold(by.Prefix))
	case *corepb.StringMatcher_Suffix:
		return strings.HasSuffix(text, fold(by.Suffix))
	case *corepb.StringMatcher_Contains:
		return strings.Contains(text, fold(by.Contains))
	}
	r.refuse("only exact, prefix, suffix and contains are supported")
	return false
}

// principal returns the client addresses that a principal matches.
func (j *judge) principal(r reading, p *rbacpb.Principal) addresses {
	network := func(r reading, c *corepb.CidrRange) addresses {
		p, ok := readNetwork(r, c)
		if !ok {
			return always(false)
		}
		return inNetworks{p}
	}
	switch by := p.GetIdentifier().(type) {
	case *rbacpb.Principal_Any:
		return always(by.Any)
	case *rbacpb.Principal_NotId:
		return not{j.principal(r.at("not_id"), by.NotId)}
	case *rbacpb.Principal_AndIds:
		return allOf(j.principals(r.at("and_ids.ids"), by.AndIds))
	case *rbacpb.Principal_OrIds:
		return anyOf(j.principals(r.at("or_ids.ids"), by.OrIds))
	case *rbacpb.Principal_SourceIp:
		return network(r.at("source_ip"), by.SourceIp)
	case *rbacpb.Principal_RemoteIp:
		return network(r.at("remote_ip"), by.RemoteIp)
	case *rbacpb.Principal_DirectRemoteIp:
		j.direct(r.at("direct_remote_ip"))
		return network(r.at("direct_remote_ip"), by.DirectRemoteIp)
	case *rbacpb.Principal_Authenticated_:
		r.at("authenticated").refuse("a name in a client certificate cannot be combined with this condition: " +
			"only with or_ids, and with not_id of other names")
		return always(false)
	}
	r.refuse("principal is not supported")
	return always(false)
}

func (j *judge) principals(r reading, s *rbacpb.Principal_Set) []addresses {
	var all []addresses
	for i, one := range s.GetIds() {
		all = append(all, j.principal(r.indexed(i), one))
	}
	return all
}
