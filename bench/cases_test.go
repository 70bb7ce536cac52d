package main

import (
	"slices"
	"testing"
)

// Every case has peers, and compares peers that it has.
func TestCasesNameTheirPeers(t *testing.T) {
	peers, seen := suitePeers(nil), map[string]bool{}
	for _, c := range cases() {
		if seen[c.Name] || c.Title == "" || c.Method.measure == nil || c.Method.Unit == "" {
			t.Errorf("%s: %+v", c.Name, c)
		}
		seen[c.Name] = true
		var names []string
		for _, p := range peers[c.Group] {
			if slices.Contains(names, p.name) {
				t.Errorf("%s has two peers %q", c.Name, p.name)
			}
			names = append(names, p.name)
		}
		wanted := slices.Clone(c.Refs)
		for _, cl := range c.Claims {
			wanted = append(wanted, cl.Peer)
			if cl.Ref != "" {
				wanted = append(wanted, cl.Ref)
			}
			if cl.Limit <= 0 {
				t.Errorf("%s: %+v", c.Name, cl)
			}
		}
		for _, name := range wanted {
			if !slices.Contains(names, name) {
				t.Errorf("%s has no peer %q", c.Name, name)
			}
		}
	}
}
