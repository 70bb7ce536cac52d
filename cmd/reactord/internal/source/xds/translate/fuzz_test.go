package translate

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
)

// kinds are the types of resources, as the first byte of one in the input of the fuzz test says.
var kinds = []string{"Listener", "Cluster", "ClusterLoadAssignment", "Secret"}

// packed is resources as the input of the fuzz test has them: type, length of the name, name, length of the body, body.
func packed(all ...recorded) (out []byte) {
	for _, r := range all {
		for i, kind := range kinds {
			if kind == r.Type {
				out = append(out, byte(i), byte(len(r.Name)))
			}
		}
		out = append(out, r.Name...)
		out = binary.BigEndian.AppendUint16(out, uint16(len(r.Body)))
		out = append(out, r.Body...)
	}
	return out
}

// unpacked is the resources of an input; the last one may be cut short.
func unpacked(in []byte) (all []recorded) {
	take := func(n int) []byte {
		n = min(n, len(in))
		out := in[:n]
		in = in[n:]
		return out
	}
	for len(in) >= 2 && len(all) < 50 {
		head := take(2)
		r := recorded{Type: kinds[int(head[0])%len(kinds)], Name: string(take(int(head[1])))}
		if size := take(2); len(size) == 2 {
			r.Body = take(int(binary.BigEndian.Uint16(size)))
		}
		all = append(all, r)
	}
	return all
}

// FuzzResources has arbitrary resources judged, and a part of a plan made of those that are accepted: nothing panics,
// what is decoded twice is the same, and what is made can be merged with a configuration file.
func FuzzResources(f *testing.F) {
	for _, r := range recordings(f) {
		if len(r.Body) < 1<<12 {
			f.Add(packed(r))
		}
	}
	for _, all := range byRecording(f) {
		f.Add(packed(all...))
	}
	f.Fuzz(func(t *testing.T, in []byte) { judged(t, unpacked(in)) })
}

// judged has resources judged, and a plan made.
func judged(t *testing.T, all []recorded) {
	s, again := newSet(), newSet()
	for _, r := range all {
		if r.Name == ofFile {
			continue
		}
		_, err := s.add(r.Type, r.Name, r.Body)
		if _, err2 := again.add(r.Type, r.Name, r.Body); (err == nil) != (err2 == nil) {
			t.Fatalf("%s %s: %v, and then %v", r.Type, r.Name, err, err2)
		}
	}
	for name, l := range s.Listeners {
		l.Clusters()
		l.Secrets()
		if !l.Same(again.Listeners[name]) {
			t.Fatalf("listener %s is not the same twice", name)
		}
	}
	for name, c := range s.Clusters {
		c.Endpoints()
		c.Secrets()
		if !c.Same(again.Clusters[name]) {
			t.Fatalf("cluster %s is not the same twice", name)
		}
	}
	for name, e := range s.Endpoints {
		if !e.Same(again.Endpoints[name]) {
			t.Fatalf("endpoints %s are not the same twice", name)
		}
	}
	control, faults := Build(s)
	if err := merged(control); err != nil {
		t.Fatalf("the part cannot be merged: %v\nfaults %v\n%s", err, faults, describe(control))
	}
	if again, _ := Build(again); describe(again) != describe(control) {
		t.Fatal("the same resources become another part")
	}
}

// ofFile is a name that no resource has.
const ofFile = "of-the-file"

// merged is why a part cannot be merged with a configuration file; nil: it can. That a server of a listener is a
// listener depends on this machine, and Build does not look at it.
func merged(c *plan.Control) error {
	file := config.New()
	l, b, s := config.NewListener(), config.NewBackend(), config.NewServer()
	l.Name, l.Address, l.Backend = ofFile, config.Address{Path: "@l"}, ofFile
	s.Address = config.Address{Host: "192.0.2.255", Port: 9}
	b.Name, b.Servers = ofFile, []config.Server{s}
	file.Listeners, file.Backends = []config.Listener{l}, []config.Backend{b}
	c.Origin = "xds test"
	_, err := plan.Merge(plan.Parts{File: &plan.File{Config: file}, Control: c})
	if err != nil && strings.Contains(err.Error(), "leads back") {
		return nil
	}
	return err
}
