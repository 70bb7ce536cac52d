package daemon

import (
	"encoding/json"
	"net/netip"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/plan"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"go.uber.org/zap"
)

// handed is what a process hands to its successor beside its sockets.
type handed struct {
	Overrides []handedOverride  `json:"overrides,omitempty"`
	Tickets   []certs.TicketKey `json:"tickets,omitempty"` // the keys of session tickets
	XDS       []byte            `json:"xds,omitempty"`     // what the control plane has said
	Health    json.RawMessage   `json:"health,omitempty"`  // see [upstream.Handover]
}

// handedOverride is an override of the admin API.
type handedOverride struct {
	Backend string         `json:"backend"`
	Server  netip.AddrPort `json:"server"`
	State   *plan.State    `json:"state,omitempty"`
	Weight  *int           `json:"weight,omitempty"`
}

// handed is what this process hands over: what operators have said of servers holds in the next process, too, and
// clients resume their sessions there.
func (d *daemon) handed() (h handed) {
	for key, o := range d.planner.Status().Overrides {
		h.Overrides = append(h.Overrides, handedOverride{key.Backend, key.Address, o.State, o.Weight})
	}
	h.Tickets = d.tickets.Keys()
	h.XDS = d.xds.handed()
	h.Health, _ = json.Marshal(d.proxy.Health()) // it has no values that cannot be written
	return h
}

// health is what the process before has known of servers. What cannot be read is ignored: they are checked anew.
func (h *handed) health(log *zap.Logger) upstream.Handover {
	known, err := upstream.ReadHandover(h.Health)
	if err != nil {
		log.Warn("the health of servers that was handed over is ignored", zap.Error(err))
	}
	return known
}

// handed is what the process before this one has handed over.
func (k *Inherited) handed() (h handed, err error) {
	err = k.given.State(&h)
	return h, err
}

// overrides are those that were handed over.
func (h *handed) overrides() map[plan.ServerKey]plan.Override {
	all := make(map[plan.ServerKey]plan.Override, len(h.Overrides))
	for _, o := range h.Overrides {
		all[plan.ServerKey{Backend: o.Backend, Address: o.Server}] = plan.Override{State: o.State, Weight: o.Weight}
	}
	return all
}
