package cli

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

// table formats rows for people, with aligned columns, and numbers to the right.
type table struct {
	columns []column
	rows    [][]string
}

type column struct {
	title string
	right bool
}

// newTable returns a table with these columns. The titles of number columns begin with ">".
func newTable(titles ...string) *table {
	t := &table{}
	for _, title := range titles {
		name, right := strings.CutPrefix(title, ">")
		t.columns = append(t.columns, column{name, right})
	}
	return t
}

// add adds a row. An empty cell is shown as "-".
func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		if row[i] = plain(fmt.Sprint(c)); row[i] == "" {
			row[i] = "-"
		}
	}
	t.rows = append(t.rows, row)
}

// plain removes control characters, so that foreign text cannot control the terminal.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || 0x80 <= r && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
}

// write writes the table. paint, if it is not nil, colours a cell.
func (t *table) write(w io.Writer, paint func(title, cell string) string) {
	titles := make([]string, len(t.columns))
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.title
		widths[i] = utf8.RuneCountInString(c.title)
	}
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	t.line(w, widths, titles, nil)
	for _, row := range t.rows {
		t.line(w, widths, row, paint)
	}
}

func (t *table) line(w io.Writer, widths []int, cells []string, paint func(title, cell string) string) {
	var b strings.Builder
	for i, cell := range cells {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if paint != nil {
			cell = paint(t.columns[i].title, cell)
		}
		switch {
		case t.columns[i].right:
			b.WriteString(pad + cell)
		case i == len(cells)-1:
			b.WriteString(cell)
		default:
			b.WriteString(cell + pad)
		}
		if i < len(cells)-1 {
			b.WriteString("  ")
		}
	}
	fmt.Fprintln(w, b.String())
}

// paintState colours the states of servers.
func paintState(title, cell string) string {
	if title != "STATE" {
		return cell
	}
	switch stats.ServerState(cell) {
	case stats.ServerUp:
		return "\x1b[32m" + cell + "\x1b[0m"
	case stats.ServerDown, stats.ServerEjected:
		return "\x1b[31m" + cell + "\x1b[0m"
	case stats.ServerDrain, stats.ServerMaintenance:
		return "\x1b[33m" + cell + "\x1b[0m"
	}
	return cell
}

// humanBytes formats a number of bytes with about three digits, in powers of 1024.
func humanBytes[T int64 | uint64](n T) string {
	const units = "KMGTPE"
	f, i := float64(n), -1
	for f >= 1023.95 && i < len(units)-1 {
		f /= 1024
		i++
	}
	if i < 0 {
		return strconv.FormatInt(int64(n), 10) + "B"
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + string(units[i]) + "iB"
}

// humanTime formats a duration with its two largest units, or a short one with three digits.
func humanTime(s admin.Seconds) string {
	d := s.Duration()
	switch {
	case d < time.Second:
		return strconv.Itoa(int(math.Round(float64(d)/1e6))) + "ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// ago formats the time since t.
func ago(t time.Time) string { return humanTime(stats.Of(max(time.Since(t), 0))) }

// limited formats a limit, where 0 means no limit.
func limited(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// yes returns "yes" or "".
func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}
