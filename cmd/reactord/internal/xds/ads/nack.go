package ads

import (
	"fmt"
	"strings"
)

// nackText returns the text of a NACK: each refused resource with the reason, as far as there is room. Empty: nothing
// was refused.
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

// cut shortens a text to so many bytes of valid UTF-8, which messages must be.
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
