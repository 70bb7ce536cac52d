package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/observe/admin"
)

// PauseBackend pauses a backend, here and in the old processes of upgrades.
func (d *adminDaemon) PauseBackend(ctx context.Context, backend string, length time.Duration) error {
	if b := d.planner.Plan().Backend(backend); b != nil && b.Settings.Queue.Size == 0 {
		return fmt.Errorf("%w: backend %q has no queue that clients could wait in, and would reset them: write queue.size",
			admin.ErrConflict, backend)
	}
	found, err := d.proxy.PauseBackend(ctx, backend, length)
	if err := pauseError(backend, found, err); err != nil {
		return err
	}
	if len(d.predecessors.alive()) > 0 {
		q := admin.PauseQuery{BackendKey: admin.BackendKey{Backend: backend}, For: length}
		broadcast(d.predecessors, admin.PauseBackend, q)
	}
	return nil
}

// ResumeBackend ends the pause of a backend, here and in the old processes of upgrades, in which clients may wait.
func (d *adminDaemon) ResumeBackend(_ context.Context, backend string) error {
	if err := pauseError(backend, d.proxy.ResumeBackend(backend), nil); err != nil {
		return err
	}
	if len(d.predecessors.alive()) > 0 {
		broadcast(d.predecessors, admin.ResumeBackend, admin.BackendKey{Backend: backend})
	}
	return nil
}

// pauseError returns the error of the admin API for the result of a pause or a resume.
func pauseError(backend string, found bool, err error) error {
	if err == nil && !found {
		return fmt.Errorf("%w: backend %q", admin.ErrNotFound, backend)
	}
	return adminError(err)
}
