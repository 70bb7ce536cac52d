package ads

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// nackText returns the text of a NACK: each refused resource with the reason, as far as there is room. Without
// refusals it is empty.
func nackText(refusals []Refusal) string {
	var b strings.Builder
	for i, r := range refusals {
		reason := cut(r.Err.Error(), maxReason)
		if r.Name != "" {
			reason = fmt.Sprintf("%q: %s", cut(r.Name, maxReason/2), reason)
		}
		more := fmt.Sprintf("; and %d more", len(refusals)-i)
		if b.Len()+len("; ")+len(reason)+len(more) > MaxText {
			b.WriteString(more)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(reason)
	}
	return b.String()
}

// cut shortens a text to at most most bytes of valid UTF-8, which messages require.
func cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "�")
	if text == "" {
		return "no reason given"
	}
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}

// space spaces out NACKs of a type, so that a server that immediately repeats what was refused does not keep both
// sides busy. ACKs are never held back, and NACKs only until one follows.
type space struct {
	until time.Time     // no NACK before this time
	again time.Duration // current spacing after responses that brought nothing new
	burst int           // answers that go out although it is not time yet
}

// take returns the answer to send now, if any.
func (s *subscription) take(now time.Time) (answer, bool) {
	if len(s.answers) == 0 {
		return answer{}, false
	}
	p := &s.space
	if p.burst == 0 {
		if s.heldBack() && now.Before(p.until) {
			return answer{}, false
		}
		p.burst = len(s.answers)
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	p.burst--
	switch {
	case a.text == "":
		*p = space{burst: p.burst}
	case a.news:
		p.again = 0
		p.until = now.Add(nackSpace)
	default:
		p.again = min(max(2*p.again, nackSpaceMin), nackSpaceMax)
		p.until = now.Add(p.again)
	}
	return a, true
}

// heldBack reports whether the answers are subject to spacing: they are NACKs only, and few. Spacing does not slow
// down a server that does not wait for answers, and it must not be read more slowly for them.
func (s *subscription) heldBack() bool {
	return len(s.answers) <= maxHeldBack && !slices.ContainsFunc(s.answers, func(a answer) bool { return a.text == "" })
}
