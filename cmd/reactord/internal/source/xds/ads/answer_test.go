package ads

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestAckNack has a good response, a bad one, and a good one again.
func TestAckNack(t *testing.T) {
	s := opened(t, "LDS *")
	s.takes("LDS 1 a=1 b=1")
	s.sends("LDS ack 1")
	s.takes("LDS 2 a=2 b=2 c=2", "b", "c")
	s.sends(`LDS nack 2: "b": bad; "c": bad`)
	// The good one of a response with bad ones is held. What was held before a refusal still is, but is not told: the
	// server has to say which one it has now.
	s.reconnects("node LDS [a=2]")
	if s.state(Listener, "b") != "held, and a later one refused" {
		t.Fatal(s.state(Listener, "b"))
	}
	s.takes("LDS 1 b=3 c=3")
	s.sends("LDS ack 1")
	s.reconnects("node LDS [a=2 b=3 c=3]")
}

func TestTheFirstResponseIsRefused(t *testing.T) {
	s := opened(t, "LDS *")
	s.takes("LDS 1 a=1", "a")
	s.sends(`LDS nack 1: "a": bad`)
	s.reconnects("node LDS")
}

func TestTheWholeResponseIsRefused(t *testing.T) {
	s := opened(t, "LDS *", "EDS e")
	s.takes("LDS 1 a=1 b=1")
	u := s.gets("LDS 2 a=2 c=2 -b")
	s.Answer(u, map[string]error{"": errors.New("the translation panics"), "a": nil})
	s.sends("LDS ack 1", "LDS nack 2: the translation panics")
	s.reconnects("node EDS +e", "LDS [a=1 b=1]")
	if s.state(Listener, "c") != "none" {
		t.Fatal(s.state(Listener, "c"))
	}
}

func TestARefusedRemoval(t *testing.T) {
	s := opened(t, "LDS *")
	s.takes("LDS 1 a=1 b=1")
	s.takes("LDS 2 -a -b", "a")
	s.sends("LDS ack 1", `LDS nack 2: "a": bad`)
	if s.state(Listener, "a") != "held, and a later one refused" || s.state(Listener, "b") != "none" {
		t.Fatal(s.state(Listener, "a"), s.state(Listener, "b"))
	}
}

// TestAnsweredOnce has every response answered once, in order, and never on another stream.
func TestAnsweredOnce(t *testing.T) {
	s := opened(t, "LDS *")
	u := s.gets("LDS 1 a=1")
	s.sends()
	s.Answer(u, nil)
	s.Answer(u, refusing("a"))
	s.sends("LDS ack 1")
	s.takes("LDS 2 a=2")
	s.reconnects("node LDS [a=2]")
	s.takes("LDS 1 a=3")
	s.sends("LDS ack 1")
	u = s.gets("LDS 2 a=4")
	s.reconnects()
	s.Answer(u, nil)
	s.sends("node LDS [a=4]")
	for _, u := range s.Tick(s.now.Add(time.Hour)) {
		s.Answer(u, refusing("a"))
	}
	s.sends()
}

func TestSubscriptionsDoNotComeWithAnswers(t *testing.T) {
	s := opened(t, "EDS a")
	u := s.gets("EDS 1 a=1")
	s.want("EDS b")
	s.Answer(u, refusing("a"))
	s.sends(`EDS nack 1: "a": bad`, "EDS +b -a")
}

func TestTheSameErrorIsReportedOnce(t *testing.T) {
	s := opened(t, "LDS *")
	news := func(response string, refused ...string) string {
		s.t.Helper()
		var names []string
		for _, r := range s.takes(response, refused...) {
			if r.New {
				names = append(names, r.Name)
			}
		}
		s.drain()
		s.now = s.now.Add(time.Minute)
		return strings.Join(names, " ")
	}
	for i, c := range []struct{ response, refused, want string }{
		{"LDS 1 a=1 b=1", "a b", "a b"},
		{"LDS 2 a=1 b=1", "a b", ""},
		{"LDS 3 a=2", "a", ""},
		{"LDS 4 b=1 c=1", "b c", "c"},
		{"LDS 5 a=2", "", ""},
		{"LDS 6 a=3", "a", "a"},
		{"LDS 7 -a", "", ""},
		{"LDS 8 a=3", "a", "a"},
		{"LDS 9 x=1 x=1", "", "x"},
		{"LDS 10 x=1 x=1", "", ""},
	} {
		if got := news(c.response, strings.Fields(c.refused)...); got != c.want {
			t.Errorf("%d: new are %q, want %q", i+1, got, c.want)
		}
	}
	// Also on the next stream.
	s.End()
	s.Begin(true)
	s.drain()
	if got := news("LDS 1 a=3", "a"); got != "" {
		t.Error(got)
	}
	u := s.gets("LDS 2 a=3")
	if r := s.Answer(u, map[string]error{"a": errors.New("another")}); len(r) != 1 || !r[0].New {
		t.Error(r)
	}
}

func TestTheTextOfANackIsBounded(t *testing.T) {
	for _, c := range []struct{ names, name, reason int }{
		{1, 1, 1 << 20}, {10_000, 10, 10}, {100, MaxName, 3000}, {5, 10, 1000}, {3, 10, 2000},
	} {
		s := opened(t, "LDS *")
		response := []string{"LDS 1"}
		refused := map[string]error{}
		for i := range c.names {
			name := fmt.Sprintf("%0*d", c.name, i)
			response = append(response, name+"=1")
			refused[name] = errors.New(strings.Repeat("ä\xff", c.reason/3) + "end")
		}
		s.Answer(s.gets(strings.Join(response, " ")), refused)
		text := s.Next(s.now).GetErrorDetail().GetMessage()
		if len(text) > MaxText || !utf8.ValidString(text) || text == "" {
			t.Errorf("%+v: %d bytes: %.100q", c, len(text), text)
		}
		if c.names > 10 && !strings.HasSuffix(text, " more") {
			t.Errorf("%+v: the text does not say that there is more: %q", c, text[len(text)-50:])
		}
	}
	if text := nackText([]Refusal{{Err: errors.New("")}}); text == "" {
		t.Error("a NACK without a text would be an ACK")
	}
}

// TestNackStorm has a server that immediately sends again what was refused.
func TestNackStorm(t *testing.T) {
	s := opened(t, "LDS *")
	response := 0
	send := func() {
		response++
		s.takes(fmt.Sprintf("LDS %d a=1 b=1", response), "b")
	}
	send()
	var at []time.Duration
	for began := s.now; s.now.Sub(began) < time.Minute; {
		if sent := s.drain(); len(sent) == 1 {
			at = append(at, s.now.Sub(began))
			send()
		} else if len(sent) > 1 {
			t.Fatal(sent)
		}
		next := s.Wake()
		if !next.After(s.now) {
			t.Fatalf("at %v it wakes at %v", s.now, next)
		}
		s.now = next
		s.Tick(s.now)
	}
	want := []time.Duration{0, 100 * time.Millisecond, 1100 * time.Millisecond, 3100 * time.Millisecond,
		7100 * time.Millisecond, 15100 * time.Millisecond, 31100 * time.Millisecond, 47100 * time.Millisecond}
	if !slices.Equal(at, want) {
		t.Fatalf("NACKs at %v, want %v", at, want)
	}
	// What is good is answered immediately, together with what is held back.
	s.takes("LDS 100 b=2")
	if sent := s.drain(); len(sent) != 2 || sent[1] != "LDS ack 100" {
		t.Fatal(sent)
	}
	s.takes("LDS 101 b=3", "b")
	s.sends(`LDS nack 101: "b": bad`)
}

// TestNacksOfNewsAreHardlyHeldBack has a server that sends something new each time, and something that is refused.
func TestNacksOfNewsAreHardlyHeldBack(t *testing.T) {
	s := opened(t, "LDS *")
	for i := range 50 {
		s.takes(fmt.Sprintf("LDS %d a=%[1]d b=1", i), "b")
		if sent := s.drain(); i == 0 && len(sent) != 1 || i > 0 && len(sent) != 0 {
			t.Fatal(i, sent)
		}
		if i == 0 {
			continue
		}
		if wait := s.Wake().Sub(s.now); wait != nackSpace {
			t.Fatalf("%d: it waits for %v", i, wait)
		}
		s.now = s.Wake()
		s.sends(fmt.Sprintf(`LDS nack %d: "b": bad`, i))
	}
}

// TestAServerThatDoesNotWaitIsReadOn has one that sends without answers: it must not be read slower for its NACKs.
func TestAServerThatDoesNotWaitIsReadOn(t *testing.T) {
	s := opened(t, "LDS *")
	sent := 0
	for i := range 1000 {
		s.takes(fmt.Sprintf("LDS %d a= b=", i), "b")
		sent += len(s.drain())
	}
	s.now = s.now.Add(nackSpaceMax)
	if sent += len(s.drain()); sent != 1000 {
		t.Fatalf("%d answers", sent)
	}
}

// TestHeldBackNacksHoldNothingElseBack has other types, and subscriptions of the same.
func TestHeldBackNacksHoldNothingElseBack(t *testing.T) {
	s := opened(t, "EDS a b", "CDS *")
	s.takes("EDS 1 a=1", "a")
	s.drain()
	s.takes("EDS 2 a=1", "a")
	s.sends()
	s.want("EDS a b c")
	s.takes("CDS 3 x=1")
	s.sends("CDS ack 3", "EDS +c")
	s.reconnects("node CDS [x=1]", "EDS +a +b +c")
	s.sends()
}
