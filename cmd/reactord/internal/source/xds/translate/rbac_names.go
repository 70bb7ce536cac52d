package translate

import (
	"slices"
	"strings"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/corepb"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/rbacpb"
)

// named is the allowed names of client certificates.
type named struct {
	sans   []string // in the form of [config.ServerTLS.ClientSANs]; empty for all
	denied []string // in the form of [config.ServerTLS.DenySANs]
}

func (n *named) any() bool { return len(n.sans) > 0 || len(n.denied) > 0 }

// add restricts n to names that other allows as well. It returns false if one list cannot express both.
func (n *named) add(other named) bool {
	if len(n.sans) > 0 && len(other.sans) > 0 || len(n.denied) > 0 && len(other.denied) > 0 {
		return false
	}
	n.sans, n.denied = append(n.sans, other.sans...), append(n.denied, other.denied...)
	return true
}

// principalName matches certificates with one of the names is, except those with one of the names except.
type principalName struct{ is, except []string }

// denies returns the names to deny for these to be denied, or false if a list cannot express that.
func denies(all []principalName) ([]string, bool) {
	plain, other, except, ok := split(all)
	return append(append(plain, excepted(except)...), other...), ok
}

// allows returns the names to allow for these to be allowed, or false if a list cannot express that.
func allows(all []principalName) (named, bool) {
	plain, other, except, ok := split(all)
	n := named{sans: append(slices.Clip(plain), other...)}
	if len(except) > 0 {
		n.denied = append(excepted(plain), except...)
	}
	return n, ok
}

// split separates names without exceptions from those with, which must share the same ones.
func split(all []principalName) (plain, other, except []string, ok bool) {
	ok = true
	for _, p := range all {
		switch {
		case len(p.except) == 0:
			plain = append(plain, p.is...)
			continue
		case except == nil:
			except = p.except
		}
		ok = ok && slices.Equal(except, p.except)
		other = append(other, p.is...)
	}
	return plain, other, except, ok
}

func excepted(names []string) (all []string) {
	for _, name := range names {
		all = append(all, config.ExceptSAN+name)
	}
	return all
}

// byName reports whether a principal only consists of names in certificates: one, several, or one and not others.
func byName(p *rbacpb.Principal) bool {
	switch by := p.GetIdentifier().(type) {
	case *rbacpb.Principal_Authenticated_:
		return true
	case *rbacpb.Principal_OrIds:
		ids := by.OrIds.GetIds()
		return len(ids) > 0 && !slices.ContainsFunc(ids, func(p *rbacpb.Principal) bool { return !byName(p) })
	case *rbacpb.Principal_AndIds:
		is := 0
		for _, one := range by.AndIds.GetIds() {
			no, not := one.GetIdentifier().(*rbacpb.Principal_NotId)
			switch {
			case not && plainly(no.NotId):
			case !not && plainly(one):
				is++
			default:
				return false
			}
		}
		return is == 1
	}
	return false
}

// plainly reports whether a principal consists of names without exceptions.
func plainly(p *rbacpb.Principal) bool {
	if or, ok := p.GetIdentifier().(*rbacpb.Principal_OrIds); ok {
		ids := or.OrIds.GetIds()
		return len(ids) > 0 && !slices.ContainsFunc(ids, func(p *rbacpb.Principal) bool { return !plainly(p) })
	}
	return p.GetAuthenticated() != nil
}

// readNames reads a principal that satisfies byName. deny tells that its names are denied.
func readNames(r reading, p *rbacpb.Principal, deny bool) (all []principalName) {
	switch by := p.GetIdentifier().(type) {
	case *rbacpb.Principal_Authenticated_:
		r = r.at("authenticated.principal_name")
		return []principalName{{is: principalNames(r, by.Authenticated.GetPrincipalName(), deny)}}
	case *rbacpb.Principal_OrIds:
		for i, one := range by.OrIds.GetIds() {
			all = append(all, readNames(r.at("or_ids.ids[%d]", i), one, deny)...)
		}
		return all
	case *rbacpb.Principal_AndIds:
		var both principalName
		for i, one := range by.AndIds.GetIds() {
			r := r.at("and_ids.ids[%d]", i)
			if no, ok := one.GetIdentifier().(*rbacpb.Principal_NotId); ok {
				for _, p := range readNames(r.at("not_id"), no.NotId, !deny) {
					both.except = append(both.except, p.is...)
				}
				continue
			}
			for _, p := range readNames(r, one, deny) {
				both.is = append(both.is, p.is...)
			}
		}
		return []principalName{both}
	}
	return nil
}

// principalNames returns names of certificates. Envoy matches the URIs of a certificate, its DNS names, and its
// subject, which is not compared here. So text that looks like a URI is taken as one, and a name to deny must not
// possibly be a subject.
func principalNames(r reading, m *corepb.StringMatcher, deny bool) []string {
	if m == nil {
		return []string{config.AnySAN}
	}
	kind, text := "", ""
	switch by := m.GetMatchPattern().(type) {
	case *corepb.StringMatcher_Exact:
		text = by.Exact
	case *corepb.StringMatcher_Prefix:
		kind, text = "-prefix", by.Prefix
	case *corepb.StringMatcher_Suffix:
		kind, text = "-suffix", by.Suffix
	case *corepb.StringMatcher_Contains:
		kind, text = "-contains", by.Contains
	case *corepb.StringMatcher_SafeRegex:
		kind, text = "-regex", by.SafeRegex.GetRegex()
	}
	r.only(!m.GetIgnoreCase(), "ignore_case is not supported for names of certificates")
	if subject := strings.Contains(text, "=") || kind != "" && !strings.Contains(text, "/"); deny && subject {
		r.refuse("%q may match the subject of a certificate, which is not supported: deny a URI, or a full DNS name", text)
	}
	names := []string{"uri" + kind + ":" + text}
	if !strings.Contains(text, "://") || deny && strings.Contains(text, "|") {
		names = append(names, "dns"+kind+":"+text)
	}
	for _, name := range names {
		if _, err := config.ParseSAN(name); err != nil {
			r.refuse("%v", err)
		}
	}
	return names
}
