package collector

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/internal/series"
)

var xdsTable = series.Table[stats.ControlPlane]{
	series.Gauge("xds_connected", "Whether there is a stream to a control plane.", nil,
		func(x *stats.ControlPlane) float64 { return flag(x.Connected) }),
	series.Gauge("xds_restored",
		"Whether the process began with what the process before it, or the file last_good, had.", nil,
		func(x *stats.ControlPlane) float64 { return flag(x.Restored) }),
	series.Gauge("xds_last_heard_timestamp_seconds",
		"When the control plane was heard of last, by whichever process, in seconds since 1970; 0: never.", nil,
		func(x *stats.ControlPlane) float64 { return seconds(x.Heard) }),
	series.Gauge("xds_last_failure_timestamp_seconds",
		"When a stream to a control plane ended or could not be opened last, in seconds since 1970; 0: never.", nil,
		func(x *stats.ControlPlane) float64 { return seconds(x.LastFailure) }),
	series.Counter("xds_reconnects_total", "Attempts to open a stream after the first.", nil,
		func(x *stats.ControlPlane) float64 { return float64(x.Reconnects) }),
	series.Counter("xds_changes_total", "Plans that pushes have changed.", nil,
		func(x *stats.ControlPlane) float64 { return float64(x.Changes) }),
}

var ofType = []string{"type"}

var xdsTypeTable = series.Table[stats.ResourceType]{
	series.Gauge("xds_last_accepted_timestamp_seconds",
		"When a push was last accepted as a whole, in seconds since 1970; 0: never.", ofType,
		func(t *stats.ResourceType) float64 { return seconds(t.Accepted) }),
	series.Gauge("xds_last_refused_timestamp_seconds",
		"When something of a push was last refused, in seconds since 1970; 0: never.", ofType,
		func(t *stats.ResourceType) float64 { return seconds(t.Refused) }),
	series.Counter("xds_pushes_total", "Responses of control planes.", ofType,
		func(t *stats.ResourceType) float64 { return float64(t.Pushes) }),
	series.Counter("xds_refused_pushes_total", "Responses of which something was refused.", ofType,
		func(t *stats.ResourceType) float64 { return float64(t.Refusals) }),
}

var (
	xdsVersion   = series.NewDesc("xds_version_info", "What the control plane calls the last push.", "type", "version")
	xdsResources = series.NewDesc("xds_resources", "Resources by their state.", "type", "state")
)

// NewControlPlane returns a collector of the client of the control plane. It calls read once for each scrape, on
// any goroutine; false: there is no control plane. states are all states of resources.
func NewControlPlane(read func() (stats.ControlPlane, bool), states []string) prometheus.Collector {
	return controlPlane{read, states}
}

type controlPlane struct {
	read   func() (stats.ControlPlane, bool)
	states []string
}

// Describe implements [prometheus.Collector].
func (c controlPlane) Describe(ch chan<- *prometheus.Desc) {
	xdsTable.Describe(ch)
	xdsTypeTable.Describe(ch)
	ch <- xdsVersion
	ch <- xdsResources
}

// Collect implements [prometheus.Collector].
func (c controlPlane) Collect(ch chan<- prometheus.Metric) {
	x, ok := c.read()
	if !ok {
		return
	}
	xdsTable.Collect(ch, &x)
	for i := range x.Types {
		t := &x.Types[i]
		xdsTypeTable.Collect(ch, t, t.Type)
		ch <- series.Value(xdsVersion, 1, t.Type, t.Version)
		for _, state := range c.states {
			ch <- series.Value(xdsResources, float64(t.States[state]), t.Type, state)
		}
	}
}
