package upstream

import (
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/config"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/serveraddr"
)

// Retired returns a backend that is in no plan, for the connections of another process whose plan had it. It has no
// servers to choose from. It may be called from any goroutine.
func (d *Directory) Retired(settings *config.Backend) *Backend {
	return newBackend(d, &plan.Backend{Settings: settings})
}

// Retired returns a server that is in no plan, for the connections of another process whose plan had it. It is not
// checked, and gets no other connections. It may be called from any goroutine.
func (b *Backend) Retired(name string, address serveraddr.Addr) *Server {
	s := &Server{Backend: b, Address: address, life: lifeGone}
	s.plan.Store(&plan.Server{Name: name, Address: address})
	s.status.Store(&status{since: time.Now(), agentPercent: 100, permille: 1000})
	return s
}

// Server returns the server of a backend in force with an address, or nil. It may be called from any goroutine.
func (d *Directory) Server(b *Backend, address serveraddr.Addr) *Server {
	if m := (*d.inForce.Load())[b.Name]; m != nil && m.backend == b {
		return m.byKey[address]
	}
	return nil
}
