package proxy

import (
	"reflect"

	"github.com/reactord/reactord/cmd/reactord/internal/proxy/accesslog"
)

// An access log lives from the first plan that has its settings to the first one that has others. Its successor is
// opened when that plan is prepared. It is closed when no loop writes to it.

// openLog opens the access log of the next plan, unless it is the one in force.
func (c *change) openLog(before *table) (err error) {
	p, accessLog := c.proxy, c.next.plan.AccessLog
	if c.log = p.accessLog.Load(); reflect.DeepEqual(accessLog, before.plan.AccessLog) {
		return nil
	}
	c.log = nil
	if accessLog.Enabled() {
		c.log, err = accesslog.Open(accessLog, &p.logStats, p.log)
	}
	return err
}

// discardLog closes the access log that was opened for the change.
func (c *change) discardLog() {
	if c.log != nil && c.log != c.proxy.accessLog.Load() {
		c.log.Close()
	}
}

// retireLog closes an access log that was in force before a change. Only the end of the proxy waits for it.
func (p *Proxy) retireLog(before *accesslog.Writer) {
	if before == nil || before == p.accessLog.Load() {
		return
	}
	p.planning.Lock()
	defer p.planning.Unlock()
	if p.stopped {
		before.Close()
		return
	}
	p.retiringLogs.Go(before.Close)
}

// closeLogs writes what is queued, after the loops have ended. No plan follows.
func (p *Proxy) closeLogs() {
	if w := p.accessLog.Load(); w != nil {
		w.Close()
	}
	p.retiringLogs.Wait()
}

// ReopenAccessLog reopens the file of the access log, after it was renamed. It returns before that is done. It may
// be called from any goroutine.
func (p *Proxy) ReopenAccessLog() {
	if w := p.accessLog.Load(); w != nil {
		w.Reopen()
	}
}
