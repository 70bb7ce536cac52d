package cli

import (
	"bufio"
	"fmt"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
	"github.com/reactord/reactord/cmd/reactord/internal/stats"
)

type ctlBackend struct {
	Pause  ctlPause  `cmd:"" help:"Pause a backend: no server gets a new connection, and clients wait until it is resumed. Open connections go on."`
	Resume ctlResume `cmd:"" help:"End the pause of a backend: the clients that wait are released gradually."`
}

type ctlPause struct {
	Backend string        `arg:"" help:"Name of the backend."`
	For     time.Duration `placeholder:"TIME" help:"How long the pause lasts, if nobody ends it sooner (5m)."`
}

// Run pauses a backend.
func (p ctlPause) Run(c *ctl) error {
	q := admin.PauseQuery{BackendKey: admin.BackendKey{Backend: p.Backend}, For: p.For}
	return call(c, admin.PauseBackend, q, showPause)
}

type ctlResume struct {
	Backend string `arg:"" help:"Name of the backend."`
}

// Run ends the pause of a backend.
func (r ctlResume) Run(c *ctl) error {
	return call(c, admin.ResumeBackend, admin.BackendKey{Backend: r.Backend}, showPause)
}

func showPause(w *bufio.Writer, b *stats.Backend) {
	if b.Paused {
		fmt.Fprintf(w, "%s is paused: %s left, %d connections wait, %d are open\n", plain(b.Name), humanTime(b.PauseLeft),
			b.Queued, b.Connections)
		return
	}
	fmt.Fprintf(w, "%s is not paused: %d connections wait\n", plain(b.Name), b.Queued)
}
