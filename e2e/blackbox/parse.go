package blackbox

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// step is an action of a script.
type step struct {
	line       int
	text       string // as it is written
	verb       string // "send", "expect silence", …
	data       []byte // of send, dribble and expect
	size       int    // the same as a part of the stream, if data is nil
	time       time.Duration
	name       string
	background bool
}

// The verbs, by what follows them.
const (
	nothing  = ""
	ofData   = "DATA"
	ofTime   = "TIME"
	ofName   = "NAME"
	dataSize = 1 << 30 // bytes at most
)

var verbs = map[string]string{
	"connect": nothing, "accept": nothing, "flood": nothing, "shutdown": nothing, "shutdown-read": nothing,
	"reset": nothing, "close": nothing, "wait": nothing,
	"send": ofData, "urgent": ofData, "dribble": ofData, "expect": ofData,
	"pause": ofTime, "expect silence": ofTime,
	"signal": ofName, "await": ofName,
	"expect flood": nothing, "expect line": nothing,
	"expect eof": nothing, "expect reset": nothing, "expect gone": nothing,
}

// parse reads a script.
func parse(script string) (steps []step, err error) {
	for i, line := range strings.Split(script, "\n") {
		for text := range strings.SplitSeq(line, ";") {
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			s := step{line: i + 1, text: text}
			if err := s.parse(); err != nil {
				return nil, fmt.Errorf("line %d: %q: %w", s.line, text, err)
			}
			steps = append(steps, s)
		}
	}
	return steps, nil
}

func (s *step) parse() (err error) {
	text, found := strings.CutSuffix(s.text, "&")
	s.background = found
	verb, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	if second, after, _ := strings.Cut(rest, " "); isVerb(verb + " " + second) {
		verb, rest = verb+" "+second, strings.TrimSpace(after)
	}
	if !isVerb(verb) {
		return fmt.Errorf("no such action; see the package comment")
	}
	s.verb = verb
	if kind := verbs[verb]; (kind == nothing) != (rest == "") {
		return fmt.Errorf("write %s", strings.TrimSpace(verb+" "+kind))
	}
	switch verbs[verb] {
	case ofData:
		return s.parseData(rest)
	case ofTime:
		s.time, err = time.ParseDuration(rest)
	case ofName:
		s.name = rest
	}
	return err
}

func isVerb(verb string) bool { _, ok := verbs[verb]; return ok }

func (s *step) parseData(text string) error {
	if strings.HasPrefix(text, `"`) {
		unquoted, err := strconv.Unquote(text)
		s.data = []byte(unquoted)
		return err
	}
	unit := 1
	for suffix, n := range map[string]int{"KiB": 1 << 10, "MiB": 1 << 20} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = rest, n
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 || n > dataSize/unit {
		return fmt.Errorf(`%s is neither "text" nor a size`, text)
	}
	s.size = n * unit
	return nil
}
