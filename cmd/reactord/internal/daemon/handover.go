package daemon

import (
	"encoding/json"

	"github.com/reactord/reactord/cmd/reactord/internal/certs"
	"github.com/reactord/reactord/cmd/reactord/internal/proxy"
	"github.com/reactord/reactord/cmd/reactord/internal/sets"
	"github.com/reactord/reactord/cmd/reactord/internal/upstream"
	"go.uber.org/zap"
)

// handoverRecord is the state that a process passes to its successor along with its sockets, so that overrides stay in
// effect and clients resume their sessions.
type handoverRecord struct {
	overridesRecord
	Tickets []certs.TicketKey `json:"tickets,omitempty"`        // the keys of session tickets
	XDS     []byte            `json:"xds,omitempty"`            // see [xds.Client.Restore]
	Health  json.RawMessage   `json:"health,omitempty"`         // see [upstream.Handover]
	Sticky  json.RawMessage   `json:"sticky,omitempty"`         // a list of [proxy.StickySource], of versions before Clients
	Clients json.RawMessage   `json:"sticky_clients,omitempty"` // see [proxy.StickyRecord]
	Sets    sets.Record       `json:"sets,omitzero"`            // see [sets.Manager.Record]
	NextID  uint64            `json:"next_id,omitempty"`        // see [proxy.Config.FirstID]
	Loops   int               `json:"loops,omitempty"`          // that may hand connections over
}

// handoverRecord returns what the process before this one has passed.
func (i *Inherited) handoverRecord() (r handoverRecord, err error) {
	err = i.given.State(&r)
	return r, err
}

// record returns the state for the successor of this process.
func (d *daemon) record() (r handoverRecord) {
	s := d.planner.Status()
	r.overridesRecord = recordOverrides(s.Overrides, s.Drains)
	r.Tickets = d.tickets.Keys()
	r.XDS = d.controlPlane.handoverState()
	r.Health, _ = json.Marshal(d.proxy.Health()) // it has no values that cannot be written
	if sticky := d.proxy.Sticky(); len(sticky) != 0 {
		packed, left := proxy.PackSticky(sticky)
		if left != 0 {
			d.log.Warn("upgrade: too many sticky clients: some get a new server", zap.Int("clients", left))
		}
		r.Clients, _ = json.Marshal(packed)
	}
	r.Sets = d.sets.Record()
	r.NextID, r.Loops = d.proxy.NextID(), len(d.proxy.Loops())
	return r
}

// health returns the inherited health of servers. If it cannot be read, they are checked again.
func (r *handoverRecord) health(log *zap.Logger) upstream.Handover {
	known, err := upstream.ReadHandover(r.Health)
	if err != nil {
		log.Warn("ignoring inherited server health", zap.Error(err))
	}
	return known
}

// sticky returns the servers that clients stay at. If they cannot be read, clients get new ones.
func (r *handoverRecord) sticky(log *zap.Logger) (all []proxy.StickySource) {
	if len(r.Clients) != 0 {
		var packed proxy.StickyRecord
		err := json.Unmarshal(r.Clients, &packed)
		if err == nil {
			all, err = packed.Unpack()
		}
		if err != nil {
			log.Warn("ignoring inherited sticky sources", zap.Error(err))
		}
		return all
	}
	if len(r.Sticky) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.Sticky, &all); err != nil {
		log.Warn("ignoring inherited sticky sources", zap.Error(err))
	}
	return all
}
