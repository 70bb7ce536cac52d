package ads

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/envoypb/discoverypb"
)

func TestUpdate(t *testing.T) {
	s := opened(t, "CDS *")
	r := read("CDS 1 a=1~5s b= -c")
	r.SystemVersionInfo = "v1"
	u, err := s.Receive(s.now, r)
	if err != nil {
		t.Fatal(err)
	}
	u.has(t, "-c a=1 b=")
	a := u.Set[0]
	if u.Type != Cluster || u.Version != "v1" || u.Ignored != 0 || a.TTL != 5*time.Second || string(a.Body) != "a1" {
		t.Fatalf("%+v", u)
	}
}

// TestOnlyRemovalsDelete has a second response without the resources of the first.
func TestOnlyRemovalsDelete(t *testing.T) {
	s := opened(t, "CDS *", "EDS a b")
	s.takes("CDS 1 a=1 b=1 c=1")
	s.takes("EDS 2 a=1 b=1")
	s.takes("CDS 3 a=2")
	s.takes("EDS 4")
	s.takes("CDS 5 -b -never")
	s.reconnects("node CDS [a=2 c=1]", "EDS +a +b [a=1 b=1]")
}

func TestWhatIsNotSubscribedIsIgnored(t *testing.T) {
	s := opened(t, "EDS a", "CDS *")
	u := s.gets("EDS 1 a=1 spam=1 -more")
	u.has(t, "a=1")
	if u.Ignored != 2 {
		t.Fatalf("%d are ignored", u.Ignored)
	}
	s.Answer(u, nil)
	// Servers still say "removed" for what was unsubscribed.
	s.want("EDS b")
	s.sends("EDS ack 1", "EDS +b -a")
	u = s.gets("EDS 2 -a")
	u.has(t, "")
	s.Answer(u, nil)
	s.reconnects("node CDS", "EDS +b")
}

func TestUnwantedMeanwhile(t *testing.T) {
	s := opened(t, "EDS a b")
	u := s.gets("EDS 1 a=1 b=1")
	s.want("EDS b")
	s.Answer(u, nil)
	s.sends("EDS ack 1", "EDS -a")
	s.reconnects("node EDS +b [b=1]")
}

// TestTheLastNameIsUnsubscribed has a response for a type of which nothing is wanted any more: it is answered, for it
// was asked for on this stream.
func TestTheLastNameIsUnsubscribed(t *testing.T) {
	s := opened(t, "EDS a")
	s.want("EDS")
	s.sends("EDS -a")
	s.takes("EDS 1 -a")
	s.sends("EDS ack 1")
}

func TestUnknownTypeIsIgnored(t *testing.T) {
	s := opened(t, "CDS *")
	r := read("CDS 1 a=1")
	r.TypeUrl = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
	if _, err := s.Receive(s.now, r); !errors.Is(err, ErrType) || !strings.Contains(err.Error(), "RouteConfiguration") {
		t.Fatal(err)
	}
	// An answer to what was not asked for on this stream would ask for it.
	if _, err := s.Receive(s.now, read("LDS 2 a=1")); !errors.Is(err, ErrType) {
		t.Fatal(err)
	}
	s.sends()
	if !s.End() {
		t.Fatal("nothing was received")
	}
}

func TestANameTwice(t *testing.T) {
	for response, want := range map[string]string{
		"CDS 1 a=1 a=2 b=1":     "!a b=1",
		"CDS 1 a=1 a=1":         "!a",
		"CDS 1 a=1 -a b=1":      "!a b=1",
		"CDS 1 -a -a -b":        "!a -b",
		"CDS 1 a=1 a=1 a=1 a=1": "!a",
	} {
		s := opened(t, "CDS *")
		s.takes("CDS 0 a=0")
		s.drain()
		u := s.gets(response)
		u.has(t, want)
		s.Answer(u, nil)
		if sent := s.drain(); len(sent) != 1 || !strings.HasPrefix(sent[0], `CDS nack 1: "a": contained`) {
			t.Errorf("%s: %q", response, sent)
		}
		if n := s.of(Cluster).names["a"]; !n.held || n.version != "0" {
			t.Errorf("%s: held is %+v", response, n)
		}
	}
}

func TestWhatIsWrongWithAResource(t *testing.T) {
	long := strings.Repeat("n", MaxName+1)
	for name, c := range map[string]struct {
		change func(*discoverypb.Resource)
		text   string
	}{
		"type":        {func(r *discoverypb.Resource) { r.Resource.TypeUrl = string(Listener) }, `"x": type "type.googleapis.com/envoy.config.listener.v3.Listener" in a response of another type`},
		"no type":     {func(r *discoverypb.Resource) { r.Resource.TypeUrl = "" }, `"x": type "" in a response of another type`},
		"no name":     {func(r *discoverypb.Resource) { r.Name = "" }, "resource without a name"},
		"all":         {func(r *discoverypb.Resource) { r.Name = "*" }, `"*": this name is reserved`},
		"name":        {func(r *discoverypb.Resource) { r.Name = long }, "name longer than 2048 bytes"},
		"version":     {func(r *discoverypb.Resource) { r.Version = long }, `"x": version longer than 1024 bytes`},
		"no content":  {func(r *discoverypb.Resource) { r.Resource = nil }, `"x": no content, and version "1" is not`},
		"ttl":         {func(r *discoverypb.Resource) { r.Ttl = durationpb.New(-1) }, `"x": ttl -1ns is not`},
		"no time":     {func(r *discoverypb.Resource) { r.Ttl = durationpb.New(0) }, `"x": ttl 0s is not`},
		"invalid ttl": {func(r *discoverypb.Resource) { r.Ttl = &durationpb.Duration{Seconds: 1 << 60} }, `"x": ttl `},
	} {
		s := opened(t, "CDS *")
		r := read("CDS 1 x=1 good=1")
		c.change(r.GetResources()[0])
		u, err := s.Receive(s.now, r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(u.Set) != 1 || u.Set[0].Name != "good" {
			t.Errorf("%s: %s", name, u.write())
		}
		s.Answer(u, nil)
		if sent := s.drain(); len(sent) != 1 || !strings.Contains(sent[0], c.text) || strings.Contains(sent[0], "good") {
			t.Errorf("%s: %s", name, sent)
		}
	}
}

// TestTypeOfAnotherDomain has a type URL whose part before the name differs: it says nothing about the message.
func TestTypeOfAnotherDomain(t *testing.T) {
	s := opened(t, "CDS *")
	r := read("CDS 1 a=1")
	r.GetResources()[0].GetResource().TypeUrl = "example.com/envoy.config.cluster.v3.Cluster"
	u, err := s.Receive(s.now, r)
	if err != nil {
		t.Fatal(err)
	}
	u.has(t, "a=1")
}

func TestMoreResourcesThanAreTaken(t *testing.T) {
	s := &script{New(Config{MaxResources: 4}), t, time.Time{}}
	s.want("CDS *")
	s.Begin(true)
	s.drain()
	s.takes("CDS 1 a=1 b=1")
	s.drain()
	// The wildcard's name counts.
	u := s.gets("CDS 2 c=1 d=1 e=1 a=2")
	u.has(t, "!d !e a=2 c=1")
	s.Answer(u, nil)
	s.sends(`CDS nack 2: "d": more resources of this type than reactord accepts; ` +
		`"e": more resources of this type than reactord accepts`)
	s.takes("CDS 3 -a")
	s.gets("CDS 4 d=1").has(t, "d=1")
}

func TestRefusedNamesDoNotFillTheMemory(t *testing.T) {
	s := opened(t, "CDS *", "EDS a")
	for i := range 1000 {
		u := s.gets(fmt.Sprintf("CDS %d r%d=1 r%d=1 d%[2]d=1 -d%[2]d", i, i, i+1))
		s.Answer(u, map[string]error{"": errors.New("no"), "what": errors.New("no"), "r": errors.New("no")})
		s.takes(fmt.Sprintf("EDS %d x%[1]d=1 y=1 y=1 -z%[1]d", i), "x", "y")
		s.drain()
		s.now = s.now.Add(time.Minute)
	}
	for _, sub := range s.types {
		if len(sub.names) > 1 {
			t.Fatalf("%s has %d names", sub.kind, len(sub.names))
		}
	}
}

func TestFlowControl(t *testing.T) {
	s := opened(t, "CDS *", "EDS a")
	u := s.gets("CDS 1 a=1")
	if _, err := s.Receive(s.now, read("CDS 2 a=2")); err != ErrUnanswered {
		t.Fatal(err)
	}
	e := s.gets("EDS 3 a=1")
	s.sends()
	s.Answer(e, nil)
	s.sends("EDS ack 3")
	s.Answer(u, nil)
	s.takes("CDS 2 a=2")
	s.sends("CDS ack 1", "CDS ack 2")
	// Also across streams, so that what is held is what came last.
	u = s.gets("CDS 4 a=3")
	s.reconnects("node EDS +a [a=1]")
	s.Answer(u, nil)
	s.sends("CDS [a=3]")
	s.takes("CDS 1 a=4")
	s.sends("CDS ack 1")
	s.reconnects("node CDS [a=4]", "EDS +a [a=1]")
}

func TestAnswersThatAreNotSent(t *testing.T) {
	s := opened(t, "CDS *")
	for i := range maxWaiting {
		s.takes(fmt.Sprintf("CDS %d a=%[1]d", i))
	}
	if _, err := s.Receive(s.now, read("CDS 99 a=2")); err != ErrUnanswered {
		t.Fatal(err)
	}
	if sent := s.drain(); len(sent) != maxWaiting {
		t.Fatal(sent)
	}
	s.takes("CDS 99 a=2")
	s.sends("CDS ack 99")
}

func TestNonces(t *testing.T) {
	s := opened(t, "CDS *")
	for _, nonce := range []string{"", strings.Repeat("n", MaxNonce+1)} {
		r := read("CDS a=1")
		r.Nonce = nonce
		if _, err := s.Receive(s.now, r); err != ErrNonce {
			t.Fatal(err)
		}
	}
}

func TestTheServerCannotSend(t *testing.T) {
	s := opened(t, "EDS a b")
	s.takes("EDS 1 a=1")
	r := read("EDS 2")
	for _, n := range []string{"a", "b", "c"} {
		r.ResourceErrors = append(r.ResourceErrors, &discoverypb.ResourceError{
			ResourceName: &discoverypb.ResourceName{Name: n}, ErrorDetail: &discoverypb.Status{Message: "not for you"},
		})
	}
	r.RemovedResourceNames = []*discoverypb.ResourceName{{Name: "c"}}
	u, err := s.Receive(s.now, r)
	if err != nil {
		t.Fatal(err)
	}
	if len(u.Failed) != 2 || u.Failed["b"].Error() != "not for you" {
		t.Fatal(u.Failed)
	}
	s.Answer(u, nil)
	if m := s.missing(Endpoints); m != "" {
		t.Fatalf("missing: %s", m)
	}
	s.reconnects("node EDS +a +b [a=1]")
	s.want("EDS *")
	s.sends("EDS +* -a -b")
	r = read("EDS 1")
	r.ResourceErrors = []*discoverypb.ResourceError{{ResourceName: &discoverypb.ResourceName{Name: Wildcard}}}
	if u, err = s.Receive(s.now, r); err != nil || len(u.Failed) != 0 {
		t.Fatal(u, err)
	}
}

func TestTimeToLive(t *testing.T) {
	s := opened(t, "EDS a b c", "CDS *")
	s.takes("EDS 1 a=1~10s b=1~10s c=1")
	s.takes("CDS 2 a=1~20s")
	s.drain()
	if wake := s.Wake(); wake.Sub(s.now) != DefaultSettle {
		t.Fatalf("wakes in %v", wake.Sub(s.now))
	}
	if said := s.after(6 * time.Second); said != "" {
		t.Fatal(said)
	}
	if wake := s.Wake(); wake.Sub(s.now) != 4*time.Second {
		t.Fatalf("wakes in %v", wake.Sub(s.now))
	}
	// A heartbeat is no change, and it is answered.
	s.gets("EDS 3 a=1~10s!").has(t, "")
	if s.after(100*time.Second) != "CDS -a" {
		t.Fatal("an unanswered type must wait")
	}
}

func TestHeartbeats(t *testing.T) {
	s := opened(t, "EDS a b c d")
	s.takes("EDS 1 a=1~10s b=1~10s c=1~10s d=1~10s")
	s.after(6 * time.Second)
	s.takes("EDS 2 a=1~10s! b=1!")
	s.takes("EDS 3 c=2")
	s.sends("EDS ack 1", "EDS ack 2", "EDS ack 3")
	if said := s.after(5 * time.Second); said != "EDS -d" {
		t.Fatal(said)
	}
	if s.state(Endpoints, "d") != "absent" || s.missing(Endpoints) != "" {
		t.Fatal(s.state(Endpoints, "d"))
	}
	if said := s.after(6 * time.Second); said != "EDS -a" {
		t.Fatal(said)
	}
	if !s.Wake().IsZero() || s.of(Endpoints).expire != 0 {
		t.Fatalf("wakes at %v; %d expire", s.Wake(), s.of(Endpoints).expire)
	}
	// A heartbeat for what is gone, or of another version, is refused.
	u := s.gets("EDS 4 a=1~10s! b=2!")
	u.has(t, "!a !b")
	s.Answer(u, nil)
	s.reconnects("node EDS +a +b +c +d [c=2]")
}

// TestTimeToLiveOfWhatWasRefused has a refusal between: what is held keeps its own time.
func TestTimeToLiveOfWhatWasRefused(t *testing.T) {
	s := opened(t, "EDS a")
	s.takes("EDS 1 a=1~20s")
	s.takes("EDS 2 a=2~60s", "a")
	s.after(DefaultSettle)
	if said := s.after(14 * time.Second); said != "" {
		t.Fatal(said)
	}
	if said := s.after(time.Second); said != "EDS -a" {
		t.Fatal(said)
	}
}
