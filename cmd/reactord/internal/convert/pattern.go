package convert

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// maxNames limits the names that one pattern stands for.
const maxNames = 1000

// namesOf returns the server names that a regular expression matches, each "example.org" or "*.example.org". It fails
// if these cannot say it.
func namesOf(pattern string) ([]string, bool) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, false
	}
	all, ok := expand(parsed.Simplify())
	if !ok {
		return nil, false
	}
	var names []string
	for _, s := range all {
		name, ok := nameOf(s)
		if !ok {
			return nil, false
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), len(names) > 0
}

// Marks in an expanded pattern, which are no characters of names.
const (
	begins = "^"
	ends   = "$"
	some   = "*" // any characters
)

// nameOf returns the name of an expanded pattern.
func nameOf(s string) (string, bool) {
	s, ended := strings.CutSuffix(s, ends)
	if !ended {
		return "", false
	}
	if exact, ok := strings.CutPrefix(s, begins); ok && !strings.ContainsAny(exact, begins+ends+some) {
		return strings.ToLower(exact), isName(exact)
	}
	for _, any := range []string{begins + some, some, ""} { // what a search without "^" skips is any, too
		below, ok := strings.CutPrefix(s, any)
		if ok = ok && strings.HasPrefix(below, ".") && isName(below[1:]); ok {
			return "*" + strings.ToLower(below), true
		}
	}
	return "", false
}

func isName(s string) bool {
	return s != "" && strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-_.") == ""
}

// expand returns the texts that an expression stands for, with the marks above.
func expand(e *syntax.Regexp) ([]string, bool) {
	switch e.Op {
	case syntax.OpEmptyMatch:
		return []string{""}, true
	case syntax.OpLiteral:
		return []string{string(e.Rune)}, true
	case syntax.OpBeginText, syntax.OpBeginLine:
		return []string{begins}, true
	case syntax.OpEndText, syntax.OpEndLine:
		return []string{ends}, true
	case syntax.OpStar, syntax.OpPlus:
		switch sub := e.Sub[0]; {
		case sub.Op == syntax.OpAnyChar, sub.Op == syntax.OpAnyCharNotNL, isLabelClass(sub):
			return []string{some}, true
		}
	case syntax.OpQuest:
		all, ok := expand(e.Sub[0])
		return append([]string{""}, all...), ok
	case syntax.OpCapture:
		return expand(e.Sub[0])
	case syntax.OpCharClass:
		return expandClass(e.Rune)
	case syntax.OpAlternate:
		var all []string
		for _, sub := range e.Sub {
			texts, ok := expand(sub)
			if all = append(all, texts...); !ok || len(all) > maxNames {
				return nil, false
			}
		}
		return all, true
	case syntax.OpConcat:
		all := []string{""}
		for _, sub := range e.Sub {
			texts, ok := expand(sub)
			if !ok || len(all)*len(texts) > maxNames {
				return nil, false
			}
			var next []string
			for _, before := range all {
				for _, after := range texts {
					next = append(next, before+after)
				}
			}
			all = next
		}
		return all, true
	}
	return nil, false
}

// isLabelClass reports whether a class has all letters, which a label repeats.
func isLabelClass(e *syntax.Regexp) bool {
	if e.Op != syntax.OpCharClass {
		return false
	}
	for i := 0; i+1 < len(e.Rune); i += 2 {
		if e.Rune[i] <= 'a' && 'z' <= e.Rune[i+1] {
			return true
		}
	}
	return false
}

// expandClass returns the characters of a small class.
func expandClass(ranges []rune) (all []string, ok bool) {
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i+1]-ranges[i] > 64 {
			return nil, false
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			all = append(all, string(r))
		}
	}
	return all, len(all) > 0 && len(all) <= 64
}
