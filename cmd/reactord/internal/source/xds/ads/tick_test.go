package ads

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestReconnect(t *testing.T) {
	s := opened(t, "CDS *", "EDS a b c")
	s.takes("CDS 1 a=1 b=1 c=1")
	s.takes("EDS 2 a=1 b=1")
	s.takes("CDS 3 a=2 -b")
	s.takes("EDS 4 a=2 -b")
	s.takes("CDS 5 c=2", "c")
	s.want("EDS a b")
	// Nothing is unsubscribed on a stream that has not subscribed it, and only accepted versions are told.
	s.reconnects("node CDS [a=2]", "EDS +a +b [a=2]")
	s.reconnects("node CDS [a=2]", "EDS +a +b [a=2]")
}

// TestServerThatHonoursVersions has one that sends what has changed, and says what is gone.
func TestServerThatHonoursVersions(t *testing.T) {
	s := opened(t, "CDS *")
	s.takes("CDS 1 a=1 b=1 c=1 d=1")
	s.reconnects("node CDS [a=1 b=1 c=1 d=1]")
	s.takes("CDS 1 b=2 -c")
	s.takes("CDS 2 b=1")
	if said := s.after(time.Hour); said != "" {
		t.Fatal(said)
	}
	s.reconnects("node CDS [a=1 b=1 d=1]")
	s.takes("CDS 1")
	if said := s.after(time.Hour); said != "" {
		t.Fatal(said)
	}
}

// TestServerThatIgnoresVersions has one that sends everything and does not say what is gone; the second has no versions
// at all, as Istio.
func TestServerThatIgnoresVersions(t *testing.T) {
	for _, version := range []string{"1", ""} {
		s := opened(t, "CDS *", "EDS x y")
		s.takes(fmt.Sprintf("CDS 1 a=%s b=%[1]s c=%[1]s d=%[1]s", version))
		s.takes(fmt.Sprintf("EDS 2 x=%s y=%[1]s", version))
		s.End()
		s.Begin(true)
		s.drain()
		s.takes(fmt.Sprintf("CDS 1 a=%s d=9", version))
		s.takes(fmt.Sprintf("EDS 2 x=%s", version)) // what is wanted by name is not removed so
		if said := s.after(DefaultSettle - 1); said != "" {
			t.Fatal(said)
		}
		// It may take several responses.
		s.takes(fmt.Sprintf("CDS 3 c=%s", version))
		if wake := s.Wake(); wake.Sub(s.now) != 1 {
			t.Fatalf("it wakes at %v", wake)
		}
		if said := s.after(1); said != "CDS -b" {
			t.Fatal(said)
		}
		if said := s.after(time.Hour); said != "" {
			t.Fatal(said)
		}
		s.drain()
		s.reconnects(fmt.Sprintf("node CDS [a=%s c=%[1]s d=9]", version), fmt.Sprintf("EDS +x +y [x=%s y=%[1]s]", version))
	}
}

// TestVersionsAreNotKnownToAnotherServer has a second control plane, which is told none.
func TestVersionsAreNotKnownToAnotherServer(t *testing.T) {
	s := opened(t, "CDS *", "EDS x y")
	s.takes("CDS 1 a=1 b=1")
	s.takes("EDS 2 x=1 y=1")
	s.End()
	s.Begin(false)
	s.sends("node CDS", "EDS +x +y")
	s.takes("CDS 1 a=7")
	s.takes("EDS 2 x=7 -y")
	if said := s.after(DefaultSettle); said != "CDS -b" {
		t.Fatal(said)
	}
	s.reconnects("node CDS [a=7]", "EDS +x +y [x=7]")
}

// TestASilentServerRemovesNothing has one that does not answer, and streams that end before it could be known whether
// the server has sent everything.
func TestASilentServerRemovesNothing(t *testing.T) {
	s := opened(t, "CDS *")
	s.takes("CDS 1 a= b=")
	for range 10 {
		s.reconnects("node CDS [a= b=]")
		if said := s.after(time.Hour); said != "" {
			t.Fatal(said)
		}
		s.takes("CDS 1 a=")
		s.drain()
		s.End()
		if said := s.after(time.Hour); said != "" {
			t.Fatal(said)
		}
	}
}

// TestUnansweredMeansUndecided has a response that is still out when the server should have sent everything.
func TestUnansweredMeansUndecided(t *testing.T) {
	s := opened(t, "CDS *")
	s.takes("CDS 1 a= b=")
	s.reconnects("node CDS [a= b=]")
	u := s.gets("CDS 1 a=")
	if said := s.after(time.Hour); said != "" || !s.Wake().IsZero() {
		t.Fatal(said)
	}
	s.Answer(u, nil)
	if said := s.after(0); said != "CDS -b" {
		t.Fatal(said)
	}
}

// TestAnsweredOnTheNextStream has an update that is still out when the next stream begins: the versions that are told
// are what is held when it has been answered. What another control plane has sent is not told.
func TestAnsweredOnTheNextStream(t *testing.T) {
	s := opened(t, "CDS *")
	s.takes("CDS 1 a=1 b=1")
	u := s.gets("CDS 2 a=2 c=1")
	s.reconnects()
	s.Answer(u, refusing("c"))
	if s.state(Cluster, "c") != "refused" {
		t.Fatal(s.state(Cluster, "c"))
	}
	s.sends("node CDS [a=2 b=1]")
	u = s.gets("CDS 1 a=3")
	s.End()
	s.Begin(false)
	s.sends()
	s.Answer(u, nil)
	s.sends("node CDS")
	s.takes("CDS 1 b=1")
	s.drain()
	if said := s.after(DefaultSettle - 1); said != "" {
		t.Fatal(said)
	}
	// A stream that ends before leaves that undecided for the next.
	s.reconnects("node CDS [b=1]")
	s.takes("CDS 1")
	if said := s.after(DefaultSettle); said != "CDS -a -c" {
		t.Fatal(said)
	}
}

// TestHeartbeatsAreNoSign has a heartbeat, which has the version that is held.
func TestHeartbeatsAreNoSign(t *testing.T) {
	s := opened(t, "CDS *")
	s.takes("CDS 1 a=1~1h b=1")
	s.reconnects("node CDS [a=1 b=1]")
	s.takes("CDS 1 a=1~1h!")
	if said := s.after(DefaultSettle); said != "" {
		t.Fatal(said)
	}
}

// TestExpiredWhileUndecided has a resource that expires before it is known whether the server has sent everything: it
// is removed once.
func TestExpiredWhileUndecided(t *testing.T) {
	s := opened(t, "CDS *")
	s.takes("CDS 1 a= b= c=~3s")
	s.reconnects("node CDS [a= b= c=]")
	s.takes("CDS 1 a=")
	if said := s.after(3 * time.Second); said != "CDS -c" {
		t.Fatal(said)
	}
	if said := s.after(2 * time.Second); said != "CDS -b" {
		t.Fatal(said)
	}
}

// TestRefusedAndGone has resources that were refused, and that the server of the next stream does not have any more:
// the caller may have accepted them meanwhile, and the server does not know that the client knows them.
func TestRefusedAndGone(t *testing.T) {
	s := opened(t, "CDS *", "EDS x y")
	s.takes("CDS 1 a=1 b=1 e=1")
	s.takes("CDS 2 a=2 c=1 d=1 e=2", "a", "c", "d", "e")
	s.takes("EDS 3 x=1")
	s.takes("EDS 4 x=2 y=2", "x", "y")
	s.reconnects("node CDS [b=1]", "EDS +x +y")
	// It has gone back to what is held of one of them.
	s.takes("CDS 1 e=1 d=1", "d")
	s.takes("EDS 2")
	if said := s.after(DefaultSettle); said != "CDS -a -c" {
		t.Fatal(said)
	}
	for name, want := range map[string]string{"a": "none", "b": "held", "c": "none", "d": "refused", "e": "held"} {
		if got := s.state(Cluster, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	s.reconnects("node CDS [b=1 e=1]", "EDS +x +y")
}

func TestMixed(t *testing.T) {
	s := opened(t, "CDS *", "EDS x")
	s.takes("CDS 1 a=1")
	s.takes("EDS 2 x=1")
	s.End()
	s.Begin(true)
	if s.Mixed() {
		t.Fatal("there is one control plane only")
	}
	s.End()
	s.Begin(false)
	s.drain()
	for _, response := range []string{"CDS 1 a=1", "EDS 2 -x"} {
		if !s.Mixed() {
			t.Fatal("what the first control plane has sent is held")
		}
		s.takes(response)
	}
	if s.Mixed() {
		t.Fatal("all is from the second control plane")
	}
}

// TestWhatIsNotSentIsNoReasonToWake has a transport that does not get rid of an answer that is due.
func TestWhatIsNotSentIsNoReasonToWake(t *testing.T) {
	s := opened(t, "LDS *")
	s.takes("LDS 1 a=1", "a")
	s.sends(`LDS nack 1: "a": bad`)
	s.takes("LDS 2 a=2", "a")
	s.after(DefaultSettle)
	if wake := s.Wake(); !wake.IsZero() {
		t.Fatalf("it wakes at %v, and it is %v", wake, s.now)
	}
	s.sends(`LDS nack 2: "a": bad`)
}

// TestTooManyVersionsToTell has more than a request takes: then none is told, and the server has to send everything.
func TestTooManyVersionsToTell(t *testing.T) {
	s := opened(t, "CDS *")
	long := strings.Repeat("v", MaxVersion)
	response := []string{"CDS 1"}
	for i := range maxRequest/MaxVersion + 1 {
		response = append(response, fmt.Sprintf("c%d=%s", i, long))
	}
	s.takes(strings.Join(response, " "))
	s.reconnects("node CDS")
	s.takes("CDS 1 c1=9")
	if said := s.after(DefaultSettle); len(strings.Fields(said)) != len(response)-1 {
		t.Fatalf("%d are removed", len(strings.Fields(said)))
	}
	s.reconnects("node CDS [c1=9]")
}
