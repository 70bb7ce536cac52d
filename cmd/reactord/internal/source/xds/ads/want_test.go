package ads

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestFirstRequests(t *testing.T) {
	s := begin(t, "SDS s", "LDS * l", "EDS b a", "CDS *")
	if s.missing(Listener) != "*" {
		t.Fatal(s.missing(Listener))
	}
	s.sends("node CDS", "EDS +a +b", "LDS", "SDS +s")
	s.takes("CDS 1 c=1")
	s.takes("LDS 2 l=1")
	s.sends("CDS ack 1", "LDS ack 2")
	// The node is told once a stream.
	s.reconnects("node CDS [c=1]", "EDS +a +b", "LDS [l=1]", "SDS +s")
}

func TestNothingIsSentWithoutAStream(t *testing.T) {
	s := &script{New(Config{}), t, time.Time{}}
	s.want("CDS *")
	s.sends()
	if _, err := s.Receive(s.now, read("CDS 1 a=1")); err != ErrNoStream {
		t.Fatal(err)
	}
	s.Begin(true)
	s.sends("CDS")
	s.takes("CDS 1 a=1")
	if !s.End() {
		t.Fatal("nothing was received")
	}
	s.sends()
	if _, err := s.Receive(s.now, read("CDS 1 a=1")); err != ErrNoStream {
		t.Fatal(err)
	}
	s.Begin(true)
	if s.End() {
		t.Fatal("the second stream has received something")
	}
}

func TestNothingWantedIsNotAskedFor(t *testing.T) {
	s := begin(t, "EDS", "CDS")
	s.sends()
	s.want("EDS a")
	s.sends("node EDS +a")
	s.want("EDS")
	s.sends("EDS -a")
	// An empty first request would be a wildcard.
	s.reconnects()
	s.want("NDS a")
	s.sends()
}

func TestSubscribeAndUnsubscribe(t *testing.T) {
	s := opened(t, "EDS 1 2 3")
	s.want("EDS 2 3 4")
	s.sends("EDS +4 -1")
	s.want("EDS 1 2")
	s.sends("EDS +1 -3 -4")
	s.want("EDS 1 2 2")
	s.sends()
}

func TestWantsAreCoalesced(t *testing.T) {
	s := opened(t, "EDS 1 2 3")
	s.want("EDS 1 2 3 4")
	s.want("EDS 1 2 3 4 5")
	s.sends("EDS +4 +5")
	s.want("EDS 1 2 3 4 5 6")
	s.want("EDS 1 2 3 4 5")
	s.sends()
	s.want("EDS 4 5 6")
	s.want("EDS 1 2 3 4")
	s.want("EDS 4 6")
	s.sends("EDS +6 -1 -2 -3 -5")
	if names := s.of(Endpoints).names; len(names) != 2 {
		t.Fatalf("what is not wanted is remembered: %v", names)
	}
}

// TestWhatWasForgottenIsSentAgain has names that were unwanted for a moment: go-control-plane does not send again what
// is subscribed a second time, and obeys the unsubscription if a request has both.
func TestWhatWasForgottenIsSentAgain(t *testing.T) {
	s := opened(t, "EDS a b")
	s.takes("EDS 1 a=1 b=1")
	s.want("EDS b")
	s.want("EDS a b c")
	s.sends("EDS ack 1", "EDS +c -a", "EDS +a")
	if m := s.missing(Endpoints); m != "a c" {
		t.Fatalf("missing: %s", m)
	}
	// A stream that ends in between has forgotten it anyway.
	s.want("EDS a c")
	s.want("EDS a b c")
	s.reconnects("node EDS +a +b +c")
}

// TestForgottenWhileAResponseIsOut has names that are wanted anew before the response with them is applied.
func TestForgottenWhileAResponseIsOut(t *testing.T) {
	s := opened(t, "EDS a b c")
	u := s.gets("EDS 1 a=1 b=1 -c")
	s.want("EDS")
	s.want("EDS a b c")
	s.Answer(u, refusing("b"))
	s.sends(`EDS nack 1: "b": bad`, "EDS -b", "EDS +b")
	s.reconnects("node EDS +a +b +c [a=1]")
}

func TestRefresh(t *testing.T) {
	s := opened(t, "EDS a b", "CDS *")
	s.takes("EDS 1 a=1 b=1")
	s.drain()
	s.Refresh(s.now, Endpoints, []string{"a", "stranger"})
	s.Refresh(s.now, Cluster, []string{"a"})
	s.sends("EDS -a", "EDS +a")
	if m := s.missing(Endpoints); m != "a" {
		t.Fatalf("missing: %s", m)
	}
	s.takes("EDS 2 a=1")
	if m := s.missing(Endpoints); m != "" {
		t.Fatalf("missing: %s", m)
	}
	s.Refresh(s.now, Endpoints, []string{"b"})
	s.reconnects("node CDS", "EDS +a +b [a=1]")
}

func TestMissing(t *testing.T) {
	s := begin(t, "CDS *", "EDS a b c d")
	since := s.now
	s.now = s.now.Add(time.Minute)
	s.drain()
	s.want("EDS a b c d e")
	if got := fmt.Sprint(s.Missing(Cluster)); got != fmt.Sprint([]Missing{{"*", since}}) {
		t.Fatal(got)
	}
	s.takes("CDS 1")
	if s.missing(Cluster) != "" {
		t.Fatal("the first response of a wildcard may be empty")
	}
	s.takes("EDS 2 a=1 b=1 -c", "b")
	got := s.Missing(Endpoints)
	if fmt.Sprint(got) != fmt.Sprint([]Missing{{"d", since}, {"e", s.now}}) {
		t.Fatal(got)
	}
	// What is missing stays so on the next stream, and what was found stays found.
	s.reconnects("node CDS", "EDS +a +b +c +d +e [a=1]")
	if got := s.missing(Endpoints); got != "d e" {
		t.Fatal(got)
	}
	s.want("EDS a d")
	if got := s.missing(Endpoints); got != "d" {
		t.Fatal(got)
	}
}

func TestStates(t *testing.T) {
	s := opened(t, "EDS a b c d e")
	s.takes("EDS 1 a=1 b=1 c=1 -d", "c")
	s.takes("EDS 2 b=2", "b")
	for name, want := range map[string]string{
		"a": "held", "b": "held, and a later one refused", "c": "refused", "d": "absent", "e": "requested", "f": "none",
	} {
		if got := s.state(Endpoints, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	s.takes("EDS 3 b=3 c=3")
	s.takes("EDS 4 -a")
	for name, want := range map[string]string{"a": "absent", "b": "held", "c": "held"} {
		if got := s.state(Endpoints, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestRestore(t *testing.T) {
	s := &script{New(Config{}), t, time.Time{}}
	s.Restore(Cluster, map[string]string{"a": "1", "b": ""})
	s.Restore(Endpoints, map[string]string{"a": "1", "gone": "1"})
	s.Restore("unknown", map[string]string{"a": "1"})
	s.want("CDS *")
	s.want("EDS a b")
	s.Begin(true)
	s.sends("CDS [a=1 b=]", "EDS +a +b [a=1]")
	if s.missing(Cluster) != "*" || s.missing(Endpoints) != "b" {
		t.Fatalf("missing: %q, %q", s.missing(Cluster), s.missing(Endpoints))
	}
	refusals(s.takes("CDS 1 -b")).none(t)
	s.reconnects("CDS [a=1]", "EDS +a +b [a=1]")
}

type refusals []Refusal

func (r refusals) none(t *testing.T) {
	t.Helper()
	if len(r) != 0 {
		t.Fatal(r)
	}
}

func TestFromWildcardToNamesAndBack(t *testing.T) {
	s := opened(t, "CDS *")
	s.takes("CDS 1 a=1 b=1")
	s.want("CDS a")
	s.sends("CDS ack 1", "CDS +a -*")
	s.reconnects("node CDS +a [a=1]")
	s.want("CDS *")
	s.sends("CDS +* -a")
	s.reconnects("node CDS [a=1]")
}

func TestLargeRequestsAreSplit(t *testing.T) {
	long := strings.Repeat("x", 2000)
	var names []string
	for i := range 2500 {
		names = append(names, fmt.Sprint(long, i))
	}
	s := begin(t)
	s.Want(s.now, Endpoints, names)
	told := 0
	for r := s.Next(s.now); r != nil; r = s.Next(s.now) {
		size := 0
		for _, n := range r.GetResourceNamesSubscribe() {
			size += len(n)
		}
		if told += len(r.GetResourceNamesSubscribe()); size > maxRequest {
			t.Fatalf("a request has %d bytes of names", size)
		}
	}
	if told != len(names) {
		t.Fatalf("%d of %d names are subscribed", told, len(names))
	}
	// What is not in the first request is not among the versions.
	for i := range 25 {
		r := read(fmt.Sprint("EDS ", i+1))
		for _, n := range names[100*i : 100*i+100] {
			r.Resources = append(r.Resources, resource(Endpoints, n, "1"))
		}
		u, err := s.Receive(s.now, r)
		if err != nil {
			t.Fatal(err)
		}
		s.Answer(u, nil)
		s.drain()
	}
	s.End()
	s.Begin(true)
	told = 0
	for r := s.Next(s.now); r != nil; r = s.Next(s.now) {
		if v := len(r.GetInitialResourceVersions()); v != 0 && (told != 0 || v != len(r.GetResourceNamesSubscribe())) {
			t.Fatalf("%d versions for %d names after %d", v, len(r.GetResourceNamesSubscribe()), told)
		}
		told += len(r.GetResourceNamesSubscribe())
	}
	if told != len(names) {
		t.Fatalf("%d of %d names are subscribed again", told, len(names))
	}
}
