package convert

import (
	"slices"
	"strconv"
	"strings"
)

// conditions tracks the nested .if blocks of a configuration.
type conditions struct{ open []ifBlock }

// ifBlock is an open .if.
type ifBlock struct {
	at     place
	active bool // its current branch is read
	taken  bool // a branch was read
}

// active reports whether lines are read here.
func (c *conditions) active() bool {
	return !slices.ContainsFunc(c.open, func(b ifBlock) bool { return !b.active })
}

// directive handles .if, .elif, .else and .endif, and returns what is wrong with it, or "".
func (c *conditions) directive(l *hapLine, vars *env) (problem string) {
	condition := strings.Join(l.rest(1), " ")
	if l.words[0] == ".if" {
		ok, problem := value(condition, vars, c.active())
		c.open = append(c.open, ifBlock{l.place, ok, ok})
		return problem
	}
	if len(c.open) == 0 {
		return "there is no .if before it"
	}
	b := &c.open[len(c.open)-1]
	switch l.words[0] {
	case ".elif":
		b.active = false
		if b.taken {
			return ""
		}
		outer := conditions{c.open[:len(c.open)-1]}
		ok, problem := value(condition, vars, outer.active())
		b.active, b.taken = ok, ok
		return problem
	case ".else":
		b.active, b.taken = !b.taken, true
	case ".endif":
		c.open = c.open[:len(c.open)-1]
	}
	return ""
}

// value evaluates a condition. In a block that is not read, no condition holds.
func value(text string, vars *env, read bool) (ok bool, problem string) {
	if !read {
		return false, ""
	}
	p := &ifParser{rest: text, vars: vars}
	ok = p.or(0)
	p.space()
	if p.unknown != "" || p.rest != "" {
		return false, "the condition cannot be evaluated here (" + clip(text) + "), so its lines are not read: " +
			"remove those that do not apply"
	}
	return ok, ""
}

// ifParser evaluates a condition (configuration manual, 2.4).
type ifParser struct {
	rest    string
	vars    *env
	unknown string // what it does not know
}

const maxNesting = 50

func (p *ifParser) space() { p.rest = strings.TrimLeft(p.rest, " \t") }

func (p *ifParser) take(token string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, token)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *ifParser) or(depth int) bool {
	ok := p.and(depth)
	for p.take("||") {
		more := p.and(depth)
		ok = ok || more
	}
	return ok
}

func (p *ifParser) and(depth int) bool {
	ok := p.term(depth)
	for p.take("&&") {
		more := p.term(depth)
		ok = ok && more
	}
	return ok
}

func (p *ifParser) term(depth int) bool {
	if depth > maxNesting {
		p.unknown = "nesting"
		return false
	}
	switch {
	case p.take("!"):
		return !p.term(depth + 1)
	case p.take("("):
		ok := p.or(depth + 1)
		if !p.take(")") {
			p.unknown = "parenthesis"
		}
		return ok
	}
	p.space()
	n := strings.IndexFunc(p.rest, func(r rune) bool { return r > 0x7f || !isNameByte(byte(r)) && r != '-' })
	if n < 0 {
		n = len(p.rest)
	}
	word := p.rest[:n]
	p.rest = p.rest[n:]
	if number, err := strconv.Atoi(word); err == nil {
		return number != 0
	}
	if word == "" && p.rest == "" && depth == 0 {
		return false // an empty condition is false
	}
	return p.predicate(word)
}

func (p *ifParser) predicate(word string) bool {
	var args []string
	if p.take("(") {
		inside, after, closed := strings.Cut(p.rest, ")")
		if !closed {
			p.unknown = word
			return false
		}
		p.rest = after
		for arg := range strings.SplitSeq(inside, ",") {
			args = append(args, strings.Trim(strings.TrimSpace(arg), `"'`))
		}
	}
	switch {
	case word == "defined" && len(args) == 1:
		_, ok := p.vars.get(args[0])
		return ok
	case word == "streq" && len(args) == 2:
		return args[0] == args[1]
	case word == "strneq" && len(args) == 2:
		return args[0] != args[1]
	case word == "strstr" && len(args) == 2:
		return strings.Contains(args[0], args[1])
	case word == "version_atleast" && len(args) == 1:
		return true // the file is taken for the newest version
	case word == "version_before" && len(args) == 1:
		return false
	}
	p.unknown = word
	return false
}
