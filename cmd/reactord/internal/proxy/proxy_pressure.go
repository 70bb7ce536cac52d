package proxy

import (
	"sync/atomic"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/host/memory"
	"github.com/reactord/reactord/internal/intrusive"
	"go.uber.org/zap"
)

// When memory becomes short, connections may be idle for less time: from 80 % of the limit on the timeouts shrink
// evenly, to a tenth at 100 %. Before the kernel ends the process, the connections that are used the least are ended.

const (
	pressureFrom  = 0.8 // of the limit
	leastPatience = 0.1 // of a timeout
	memoryEvery   = time.Second
)

// pressure is the state of memory pressure. Only the goroutine of watchMemory writes it.
type pressure struct {
	patience  atomic.Uint32 // patienceFull: timeouts are as configured
	pressured atomic.Int64  // ns for which they were shorter
	meter     memory.Meter
}

const patienceFull = 1 << 16

// scale returns how long a connection may be idle instead of d. From any thread.
func (m *pressure) scale(d time.Duration) time.Duration {
	n := m.patience.Load()
	if n == patienceFull {
		return d
	}
	return d / patienceFull * time.Duration(n)
}

// patienceAt returns which part of the timeouts is left when a part of the memory is used.
func patienceAt(used float64) float64 {
	over := (used - pressureFrom) / (1 - pressureFrom)
	return 1 - (1-leastPatience)*min(max(over, 0), 1)
}

// watchMemory reads how much memory is used, every second, until the proxy has ended.
func (p *Proxy) watchMemory() {
	t := time.NewTicker(memoryEvery)
	defer t.Stop()
	walked := 1.0 // the patience of the connections' timers
	for {
		select {
		case <-p.ended:
			return
		case <-t.C:
		}
		walked = p.checkMemory(walked)
	}
}

// checkMemory follows the memory that is used. Timers of connections are set long before they expire. So connections
// are checked whenever there is notably less patience than their timers were set with. It returns that patience.
func (p *Proxy) checkMemory(walked float64) float64 {
	m := &p.pressure
	used := m.meter.Used(int64(p.Plan().Limits.Memory))
	patience := patienceAt(used)
	before := m.patience.Swap(uint32(patience * patienceFull))
	switch {
	case patience < 1 && before == patienceFull:
		p.log.Warn("memory is low: shortening idle timeouts",
			zap.Int("used_percent", int(used*100)), zap.Int("timeouts_percent", int(patience*100)))
	case patience == 1 && before != patienceFull:
		p.log.Info("memory recovered: idle timeouts are as configured")
	}
	if patience == 1 {
		return 1
	}
	m.pressured.Add(int64(memoryEvery))
	if patience > walked*0.9 {
		return walked
	}
	p.walkAll(connsOf, func(l *intrusive.Links) bool {
		if c := connOf(l); c.phase == phaseFlowing {
			c.checkTimeouts()
		}
		return true
	}, func() {})
	return patience
}
