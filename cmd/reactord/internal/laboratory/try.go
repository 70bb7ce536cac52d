package laboratory

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// Result holds what has come of a case.
type Result struct {
	Case        *Case
	Differences []string           // from what is expected, for people; none: the case has passed
	Explanation *stats.Explanation // nil if there is none, which a difference says
	Took        time.Duration
}

// Try tries a case.
func (l *Laboratory) Try(c *Case) Result {
	began := time.Now()
	x, err := l.Explain(&c.Client, c.States...)
	out := Result{Case: c, Explanation: x}
	if err != nil {
		out.Differences = []string{err.Error()}
	} else {
		out.Differences = c.Expect.compare(x)
	}
	out.Took = time.Since(began)
	return out
}

func (e *Expectation) isEmpty() bool { return reflect.ValueOf(e).Elem().IsZero() }

// comparison collects differences.
type comparison struct{ differences []string }

func (c *comparison) add(what, got, want string) {
	c.differences = append(c.differences, fmt.Sprintf("%s is %s, want %s", what, quote(got), quote(want)))
}

// same compares a value, if one is expected.
func (c *comparison) same(what string, want *string, got string) {
	if want != nil && *want != got {
		c.add(what, got, *want)
	}
}

// compare returns how an explanation differs.
func (e *Expectation) compare(x *stats.Explanation) []string {
	c := &comparison{}
	c.same("outcome", e.Outcome, string(x.Outcome))
	c.same("reason", e.Reason, x.Reason)
	c.same("route", e.Route, x.Route)
	c.same("backend", e.Backend, ofBackends(x, func(b *stats.ExplainedBackend) string { return b.Backend }))
	if got := sharesOf(x); e.Backends != nil && !maps.EqualFunc(e.Backends, got, nearly) {
		c.add("backends", formatShares(got), formatShares(e.Backends))
	}
	if e.Servers != nil {
		got, want := eligibleServers(x), namesOf(x, e.Servers)
		if !slices.Equal(got, want) {
			c.add("servers", strings.Join(got, ", "), strings.Join(want, ", "))
		}
	}
	e.compareServer(c, x)
	c.same("proxy_header", e.ProxyHeader, ofBackends(x, func(b *stats.ExplainedBackend) string { return b.Header }))
	c.same("client_tls", e.ClientTLS, ofBackends(x, func(b *stats.ExplainedBackend) string { return b.ClientTLS }))
	c.same("certificate", e.Certificate, ofBackends(x, certificateOf))
	c.same("server_name", e.ServerName, ofBackends(x, serverNamesOf))
	for _, name := range slices.Sorted(maps.Keys(e.Timeouts)) {
		want, got := e.Timeouts[name], timeoutsOf(x, name)
		if d, err := time.ParseDuration(want); err == nil {
			want = (&stats.ExplainedTimeout{Seconds: stats.Of(d)}).String()
		}
		if got != want {
			c.add(name, got, want)
		}
	}
	return c.differences
}

// compareServer compares the chosen server, if the choice is no chance.
func (e *Expectation) compareServer(c *comparison, x *stats.Explanation) {
	if e.Server == nil {
		return
	}
	chosen := ofBackends(x, chosenServer)
	if all := eligibleServers(x); chosen == "" && len(all) > 1 && *e.Server != "" {
		c.differences = append(c.differences, fmt.Sprintf("server is any of %s, by chance or by their connections: "+
			"write servers", strings.Join(all, ", ")))
		return
	}
	if want := namesOf(x, []string{*e.Server})[0]; want != chosen {
		c.add("server", chosen, want)
	}
}

// quote formats a value of a difference.
func quote(value string) string {
	if value == "" {
		return `""`
	}
	return value
}

func nearly(a, b float64) bool { return math.Abs(a-b) < 0.5 }

// sharesOf returns the percentages of the backends.
func sharesOf(x *stats.Explanation) map[string]float64 {
	all := map[string]float64{}
	for _, b := range x.Backends {
		all[b.Backend] += b.Percent
	}
	return all
}

// formatShares formats percentages as a file of cases has them.
func formatShares(all map[string]float64) string {
	var text []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text = append(text, fmt.Sprintf("%s: %.3g", name, all[name]))
	}
	return "{" + strings.Join(text, ", ") + "}"
}

// ofBackends returns what all backends have, without repetitions.
func ofBackends(x *stats.Explanation, of func(*stats.ExplainedBackend) string) string {
	var all []string
	for i := range x.Backends {
		if v := of(&x.Backends[i]); v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return strings.Join(all, ", ")
}

// namesOf returns names or addresses of servers as names, sorted.
func namesOf(x *stats.Explanation, servers []string) []string {
	all := slices.Clone(servers)
	for i := range all {
		for _, b := range x.Backends {
			for _, s := range b.Servers {
				if s.Address == all[i] {
					all[i] = s.Server
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// eligibleServers returns the names of the servers that may be chosen, sorted.
func eligibleServers(x *stats.Explanation) (all []string) {
	for _, b := range x.Backends {
		for _, s := range b.Servers {
			if s.Percent > 0 {
				all = append(all, s.Server)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// chosenServer returns the name of the server that the client gets, or "".
func chosenServer(b *stats.ExplainedBackend) string {
	for _, s := range b.Servers {
		if s.Chosen {
			return s.Server
		}
	}
	return ""
}

// certificateOf returns the certificate that the client is shown.
func certificateOf(b *stats.ExplainedBackend) string {
	for _, t := range b.TLS {
		if t.Side == "client" {
			return t.Certificate
		}
	}
	return ""
}

// serverNamesOf returns the names by which servers that may be chosen are asked.
func serverNamesOf(b *stats.ExplainedBackend) string {
	var all []string
	for _, s := range b.Servers {
		if s.TLS != "" && s.Percent > 0 && !slices.Contains(all, s.TLS) {
			all = append(all, s.TLS)
		}
	}
	return strings.Join(all, ", ")
}

// timeoutsOf returns the values of a timeout, or "" if there is none of the name.
func timeoutsOf(x *stats.Explanation, name string) string {
	var all []string
	add := func(of []stats.ExplainedTimeout) {
		for i := range of {
			if value := of[i].String(); of[i].Setting == name && !slices.Contains(all, value) {
				all = append(all, value)
			}
		}
	}
	add(x.Timeouts)
	for i := range x.Backends {
		add(x.Backends[i].Timeouts)
	}
	return strings.Join(all, ", ")
}
