package proxy

import (
	"github.com/reactord/reactord/cmd/reactord/internal/host/unixsocket"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"go.uber.org/zap"
)

// The files of unix sockets belong to the planner's goroutine: what is done with them may block. They are removed when
// a plan no longer has the listener, and when the proxy drains or has ended, but not if another process has the
// sockets.

// accessChange is the owner and the permissions that a plan gives the file of a listener.
type accessChange struct {
	*sharedListener
	to unixsocket.Access
}

// prepareAccess finds out whether the file of a listener gets another owner or other permissions.
func (c *change) prepareAccess(s *sharedListener, l *plan.Listener) error {
	if s.file == nil {
		return nil
	}
	to, err := unixAccess(l)
	if err == nil && to != s.access {
		c.files = append(c.files, accessChange{s, to})
	}
	return err
}

// commitFiles changes the files that the plan changes, and removes those of listeners that are gone.
func (c *change) commitFiles() {
	c.proxy.planning.Lock()
	defer c.proxy.planning.Unlock()
	for _, f := range c.files {
		f.access = f.to
		c.proxy.noted(f.sharedListener, f.file.SetAccess(f.to))
	}
	for _, s := range c.gone {
		c.proxy.noted(s, s.file.Remove())
	}
}

// removeFiles removes the files of all listeners, unless another process has the sockets or will have them. Those that
// the process was given are left if adopted is false: it may end because it could not start, and the process before it
// serves on.
func (p *Proxy) removeFiles(adopted bool) {
	p.planning.Lock()
	defer p.planning.Unlock()
	if p.handedOver || p.keepFiles {
		return
	}
	for _, s := range p.table.Load().listeners {
		if s.made || adopted {
			p.noted(s, s.file.Remove())
			s.file = nil
		}
	}
}

// noted logs that the file of a listener could not be changed.
func (p *Proxy) noted(s *sharedListener, err error) {
	if err != nil {
		p.log.Warn("cannot change the file of a unix socket",
			zap.String("listener", s.settings.Load().Name), zap.Error(err))
	}
}
