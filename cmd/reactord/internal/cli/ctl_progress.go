package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"golang.org/x/sys/unix"
)

// progress shows how many connections have moved and are left: by a line that is rewritten, or, if the output is not a
// terminal, by a line each time that they have changed. With JSON it shows nothing.
type progress struct {
	c     *ctl
	begun time.Time
	shown time.Time // when a line was printed
	moved uint64    // in that line
	left  int
	width int // of the line that is to be rewritten
}

// lineInterval is the time between two lines, at least.
const lineInterval = time.Second

func newProgress(c *ctl) *progress {
	now := time.Now()
	return &progress{c: c, begun: now, shown: now}
}

// show shows the numbers. h may be nil.
func (p *progress) show(h *stats.Handovers, left int) {
	var moved uint64
	if h != nil {
		moved = h.Taken
	}
	now := time.Now()
	switch {
	case p.c.json:
	case p.c.terminal != nil:
		p.rewrite(progressLine(p.columns(), moved, left, now.Sub(p.begun)))
	case now.Sub(p.shown) >= lineInterval && (moved != p.moved || left != p.left):
		p.shown, p.moved, p.left = now, moved, left
		fmt.Fprintf(p.c.out, "%d moved, %d left\n", moved, left)
	}
}

// end removes the line.
func (p *progress) end() {
	if p.width > 0 {
		p.rewrite("")
		fmt.Fprint(p.c.out, "\r")
	}
}

// rewrite replaces the line.
func (p *progress) rewrite(line string) {
	fmt.Fprintf(p.c.out, "\r%-*s", p.width, line)
	p.width = len(line)
}

// columns returns the width of the terminal.
func (p *progress) columns() int {
	if size, err := unix.IoctlGetWinsize(int(p.c.terminal.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
		return int(size.Col)
	}
	return 80
}

// progressLine returns a line that is shorter than the terminal, with a bar if there is room for it.
func progressLine(columns int, moved uint64, left int, lasted time.Duration) string {
	const barWidth = 30
	line := fmt.Sprintf("%d moved, %d left, %s", moved, left, humanTime(stats.Of(lasted)))
	if len(line)+barWidth+3 < columns {
		full := int(barWidth * float64(moved) / max(float64(moved)+float64(left), 1))
		line = "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "] " + line
	}
	return line[:max(0, min(len(line), columns-1))]
}
