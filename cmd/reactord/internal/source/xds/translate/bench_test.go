package translate

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkBuild is what a push costs: 1000 chains in a listener, 50 listeners whose TLS has certificates, and a
// cluster of each.
func BenchmarkBuild(b *testing.B) {
	s := newSet()
	var chains []string
	for i := range 1000 {
		chains = append(chains, chainOf("", fmt.Sprintf(`,"filter_chain_match":{"server_names":["a%d.example"]}`, i)))
	}
	s.put(b, "many", bindAt("192.0.2.1", "80")+`,"filter_chains":[`+strings.Join(chains, ",")+`]`)
	for _, r := range recordings(b) {
		for i := range 50 {
			if r.Name != "default/l4/term" || r.Type != "Listener" || r.Recordings[0] != "eg-basic-delta" {
				break
			}
			l, err := DecodeListener(r.Name, r.Body)
			if err != nil {
				b.Fatal(err)
			}
			l.places[0].address.Port = uint16(10000 + i)
			s.Listeners[fmt.Sprint("tls", i)] = l
		}
		if r.Recordings[0] == "eg-basic-delta" && r.Type != "Listener" {
			if _, err := s.add(r.Type, r.Name, r.Body); err != nil {
				b.Fatal(err)
			}
		}
	}
	if c, faults := Build(s); len(c.Listeners) != 51 || len(faults) != 0 {
		b.Fatal(len(c.Listeners), faults)
	}
	for b.Loop() {
		Build(s)
	}
}
