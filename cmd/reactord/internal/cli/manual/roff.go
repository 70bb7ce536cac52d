package manual

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Edition has the contents of a page's footer.
type Edition struct {
	Version string
	Date    time.Time // zero if unknown
}

// page is a manual page.
type page struct {
	strings.Builder

	began bool // the section has a line
}

// title writes the header of a page.
func (p *page) title(name string, section int, volume string, e Edition) {
	date := ""
	if !e.Date.IsZero() {
		date = e.Date.UTC().Format(time.DateOnly)
	}
	fmt.Fprintf(p, ".TH %s %d \"%s\" \"reactord %s\" \"%s\"\n", strings.ToUpper(name), section, date, e.Version, volume)
}

func (p *page) section(name string) {
	fmt.Fprintf(p, ".SH %s\n", name)
	p.began = false
}

func (p *page) subsection(name string) {
	fmt.Fprintf(p, ".SS \"%s\"\n", escape(name))
	p.began = false
}

// line writes a line of roff.
func (p *page) line(text string) {
	p.WriteString(text + "\n")
	p.began = true
}

// paragraph writes a text with names in backquotes. The first one of a section needs no macro.
func (p *page) paragraph(text string) {
	if p.began {
		p.line(".PP")
	}
	p.line(styled(text))
}

// entry writes a paragraph with a tag in roff.
func (p *page) entry(tag, text string) { fmt.Fprintf(p, ".TP\n%s\n%s\n", tag, styled(text)) }

// example writes text unfilled.
func (p *page) example(text string) {
	p.line(".RS 4\n.nf")
	for line := range strings.Lines(text) {
		p.line(escape(strings.TrimSuffix(line, "\n")))
	}
	p.line(".fi\n.RE")
}

// escape quotes text for roff: a hyphen that can be copied, and no line that begins with a control character.
func escape(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`,
		"…", "...").Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}

func bold(s string) string   { return `\fB` + escape(s) + `\fR` }
func italic(s string) string { return `\fI` + escape(s) + `\fR` }

var (
	quoted = regexp.MustCompile("`([^`]*)`")
	link   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// styled quotes text for roff, with names in backquotes in bold.
func styled(s string) string {
	s = link.ReplaceAllString(s, "$1")
	var b strings.Builder
	at := 0
	for _, m := range quoted.FindAllStringSubmatchIndex(s, -1) {
		b.WriteString(escape(s[at:m[0]]))
		b.WriteString(bold(s[m[2]:m[3]]))
		at = m[1]
	}
	b.WriteString(escape(s[at:]))
	return b.String()
}
