package series

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/reactord/reactord/internal/histogram"
)

// Syntax is a text format of Prometheus.
type Syntax uint8

// Syntaxes.
const (
	Classic     Syntax = iota // text format 0.0.4
	OpenMetrics               // OpenMetrics 1.0, without the line EOF
)

// text renders the series of a scrape as they are sent: without a metric in memory for each, a page takes a third of
// the time.
type text struct {
	syntax   Syntax
	families map[*Desc]*textFamily
	order    []*textFamily // in which they have got their first line
	labels   []byte        // of owners
	names    arena[[4]string]
}

// textFamily has the lines of a family.
type textFamily struct {
	desc  *Desc
	kind  dto.MetricType
	lines []byte
}

// reset forgets all lines, and keeps their memory for the next ones.
func (t *text) reset() {
	for _, f := range t.families {
		f.lines = f.lines[:0]
	}
	t.order, t.labels = t.order[:0], t.labels[:0]
	t.names.reset()
}

func (t *text) family(desc *Desc, kind dto.MetricType) *textFamily {
	f := t.families[desc]
	if f == nil {
		f = &textFamily{desc: desc}
		t.families[desc] = f
	}
	if len(f.lines) == 0 {
		f.kind = kind
		t.order = append(t.order, f)
	}
	return f
}

// Page is a rendered scrape, until its Release.
type Page struct {
	gatherer *Gatherer
	scrape   *Scrape
	headers  [][]byte // of the families
}

// Len returns the number of bytes.
func (p *Page) Len() (n int) {
	for i, f := range p.scrape.text.order {
		n += len(p.headers[i]) + len(f.lines)
	}
	return n
}

// WriteTo implements [io.WriterTo].
func (p *Page) WriteTo(w io.Writer) (written int64, err error) {
	for i, f := range p.scrape.text.order {
		for _, part := range [][]byte{p.headers[i], f.lines} {
			n, err := w.Write(part)
			written += int64(n)
			if err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// Release gives the memory of the page to the next one.
func (p *Page) Release() {
	t := p.scrape.text
	p.gatherer.remember(t)
	p.scrape.reset()
	p.gatherer.texts[t.syntax].Put(p.scrape)
}

// Text renders the series of the collectors. The error is that of Gather.
func (g *Gatherer) Text(syntax Syntax) (*Page, error) {
	s, ok := g.texts[syntax].Get().(*Scrape)
	if !ok {
		s = newScrape()
		s.text = g.newText(syntax)
	}
	var err error
	for _, c := range g.collectors {
		err = errors.Join(err, collect(c, s))
	}
	p := &Page{gatherer: g, scrape: s, headers: make([][]byte, len(s.text.order))}
	for i, f := range s.text.order {
		p.headers[i] = f.appendHeader(nil, syntax)
	}
	return p, err
}

// remember notes how long families are, so that those of another scrape do not grow by copying.
func (g *Gatherer) remember(t *text) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lengths == nil {
		g.lengths = map[*Desc]int{}
	}
	for _, f := range t.order {
		g.lengths[f.desc] = len(f.lines)
	}
}

// newText returns the memory of a scrape, with room for families as long as those of the last scrape.
func (g *Gatherer) newText(syntax Syntax) *text {
	t := &text{syntax: syntax, families: map[*Desc]*textFamily{}}
	g.mu.Lock()
	defer g.mu.Unlock()
	for desc, n := range g.lengths {
		t.families[desc] = &textFamily{desc: desc, lines: make([]byte, 0, n+n/16)}
	}
	return t
}

var (
	helpEscaper  = strings.NewReplacer("\\", `\\`, "\n", `\n`)
	valueEscaper = strings.NewReplacer("\\", `\\`, "\n", `\n`, "\"", `\"`)
)

// appendHeader appends the lines HELP and TYPE.
func (f *textFamily) appendHeader(page []byte, syntax Syntax) []byte {
	name, help, kind := f.desc.name, helpEscaper.Replace(f.desc.help), "gauge"
	switch f.kind {
	case dto.MetricType_COUNTER:
		kind = "counter"
	case dto.MetricType_HISTOGRAM:
		kind = "histogram"
	}
	if syntax == OpenMetrics {
		help = valueEscaper.Replace(f.desc.help)
		if kind == "counter" {
			var total bool
			if name, total = strings.CutSuffix(name, "_total"); !total {
				kind = "unknown"
			}
		}
	}
	page = append(append(page, "# HELP "...), name...)
	page = append(append(append(page, ' '), help...), '\n')
	page = append(append(page, "# TYPE "...), name...)
	return append(append(append(page, ' '), kind...), '\n')
}

// send renders a series of one number.
func (t *text) send(o *ownerText, desc *Desc, kind dto.MetricType, value float64, labels []string) {
	f := t.family(desc, kind)
	line := append(f.lines, desc.name...)
	line = o.appendLabels(line, labels)
	line = append(line, ' ')
	f.lines = append(t.appendFloat(line, value), '\n')
}

// histogram renders a classic histogram: text has no native ones.
func (t *text) histogram(
	o *ownerText, desc *Desc, cells *histogram.Cells, counts []uint64, sum float64,
) {
	f, classic, bounds := t.family(desc, dto.MetricType_HISTOGRAM), cells.Classic(), cells.Bounds()
	line, n, k := f.lines, uint64(0), 0
	bucket := func(bound float64) {
		line = append(append(line, desc.name...), "_bucket{"...)
		if len(o.sorted) != 0 {
			line = append(append(line, o.sorted...), ',')
		}
		line = t.appendFloat(append(line, `le="`...), bound)
		line = append(t.appendCount(append(line, `"} `...), n), '\n')
	}
	for i, count := range counts {
		n += count
		if k < len(classic) && i < len(bounds) && bounds[i] == classic[k] {
			bucket(classic[k].Seconds())
			k++
		}
	}
	bucket(math.Inf(1))
	line = o.appendLabels(append(append(line, desc.name...), "_sum"...), nil)
	line = append(t.appendFloat(append(line, ' '), sum), '\n')
	line = o.appendLabels(append(append(line, desc.name...), "_count"...), nil)
	f.lines = append(t.appendCount(append(line, ' '), n), '\n')
}

// appendFloat appends a number as package expfmt does.
func (t *text) appendFloat(line []byte, v float64) []byte {
	const exact = 1e6 // below it, a whole number has no exponent
	if whole := int64(v); v > -exact && v < exact && float64(whole) == v {
		line = strconv.AppendInt(line, whole, 10)
		if t.syntax == OpenMetrics {
			line = append(line, ".0"...)
		}
		return line
	}
	begin := len(line)
	line = strconv.AppendFloat(line, v, 'g', -1, 64)
	if t.syntax == OpenMetrics && !bytes.ContainsAny(line[begin:], "e.NI") {
		line = append(line, ".0"...)
	}
	return line
}

// appendCount appends the count of a histogram.
func (t *text) appendCount(line []byte, n uint64) []byte {
	if t.syntax == OpenMetrics {
		return strconv.AppendUint(line, n, 10)
	}
	return t.appendFloat(line, float64(n))
}

// ownerText has the labels of an owner, as given and as they are sent.
type ownerText struct {
	names    []string
	sorted   []byte
	lastName string
}

// of renders the labels of an owner, which are valid until the next reset.
func (t *text) of(labels []string) ownerText {
	o, begin := ownerText{names: append(t.names.next()[:0], labels...)}, len(t.labels)
	o.lastName, t.labels = appendSorted(t.labels, labels)
	o.sorted = t.labels[begin:len(t.labels):len(t.labels)]
	return o
}

// appendSorted appends labels in the order of their names, and returns the last name.
func appendSorted(line []byte, labels []string) (last string, _ []byte) {
	begin := len(line)
	for range len(labels) / 2 {
		next := -1 // the least name after the last one
		for i := 0; i+1 < len(labels); i += 2 {
			if labels[i] > last && (next < 0 || labels[i] < labels[next]) {
				next = i
			}
		}
		if len(line) > begin {
			line = append(line, ',')
		}
		last = labels[next]
		line = appendLabel(line, last, labels[next+1])
	}
	return last, line
}

func appendLabel(line []byte, name, value string) []byte {
	line = append(append(line, name...), `="`...)
	if plain(value) {
		line = append(line, value...)
	} else {
		line = append(line, valueEscaper.Replace(strings.ToValidUTF8(value, "\uFFFD"))...)
	}
	return append(line, '"')
}

// plain reports whether a value is written as it is.
func plain(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// appendLabels appends the labels of o and further ones, in the order of their names.
func (o *ownerText) appendLabels(line []byte, labels []string) []byte {
	if len(labels) == 0 {
		if len(o.sorted) == 0 {
			return line
		}
		return append(append(append(line, '{'), o.sorted...), '}')
	}
	line = append(line, '{')
	if len(labels) == 2 && labels[0] > o.lastName {
		if len(o.sorted) != 0 {
			line = append(append(line, o.sorted...), ',')
		}
		return append(appendLabel(line, labels[0], labels[1]), '}')
	}
	var all [16]string // as many as a series has, so that none is allocated
	_, line = appendSorted(line, append(append(all[:0], o.names...), labels...))
	return append(line, '}')
}
