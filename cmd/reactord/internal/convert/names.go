package convert

import (
	"strconv"
	"strings"
)

// maxName is the longest name of a listener or a backend.
const maxName = 63

// names gives out names, each once.
type names map[string]bool

// unique returns a name that config allows and that was not given before, as close to the wanted one as possible.
func (n names) unique(wanted string) string {
	name := validName(wanted)
	for i := 2; n[name]; i++ {
		suffix := "-" + strconv.Itoa(i)
		name = strings.TrimRight(clipName(validName(wanted), maxName-len(suffix)), "-") + suffix
	}
	n[name] = true
	return name
}

// validName replaces what config does not allow in a name.
func validName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, s)
	if s = clipName(strings.TrimLeft(s, "-"), maxName); s == "" {
		return "unnamed"
	}
	return s
}

func clipName(s string, most int) string { return s[:min(len(s), most)] }
