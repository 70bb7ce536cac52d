package collector

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/reactord/reactord/cmd/reactord/internal/stats"
	"github.com/reactord/reactord/internal/series"
)

var xdsTable = series.Table[stats.ControlPlane]{
	series.Gauge("xds_connected", "Whether a stream to a control plane is open (1).", nil,
		func(x *stats.ControlPlane) float64 { return flag(x.Connected) }),
	series.Gauge("xds_restored",
		"Whether the process started with resources of its predecessor or of the file last_good (1).", nil,
		func(x *stats.ControlPlane) float64 { return flag(x.Restored) }),
	series.Gauge("xds_last_heard_timestamp_seconds",
		"Time of the last message of the control plane, also to a predecessor, in seconds since 1970; 0 if there was none.",
		nil, func(x *stats.ControlPlane) float64 { return seconds(x.Heard) }),
	series.Gauge("xds_last_failure_timestamp_seconds",
		"Time when a stream to a control plane last ended or failed to open, in seconds since 1970; 0 if none did.", nil,
		func(x *stats.ControlPlane) float64 { return seconds(x.LastFailure) }),
	series.Counter("xds_reconnects_total", "Total number of attempts to open a stream, without the first.", nil,
		func(x *stats.ControlPlane) float64 { return float64(x.Reconnects) }),
	series.Counter("xds_changes_total", "Total number of plans changed by pushes.", nil,
		func(x *stats.ControlPlane) float64 { return float64(x.Changes) }),
}

var ofType = []string{"type"}

var xdsTypeTable = series.Table[stats.ResourceType]{
	series.Gauge("xds_last_accepted_timestamp_seconds",
		"Time of the last push that was accepted completely, in seconds since 1970; 0 if there was none.", ofType,
		func(t *stats.ResourceType) float64 { return seconds(t.Accepted) }),
	series.Gauge("xds_last_refused_timestamp_seconds",
		"Time of the last push that was refused, if only in part, in seconds since 1970; 0 if there was none.", ofType,
		func(t *stats.ResourceType) float64 { return seconds(t.Refused) }),
	series.Counter("xds_pushes_total", "Total number of responses from control planes.", ofType,
		func(t *stats.ResourceType) float64 { return float64(t.Pushes) }),
	series.Counter("xds_refused_pushes_total",
		"Total number of responses from control planes that were refused, if only in part.", ofType,
		func(t *stats.ResourceType) float64 { return float64(t.Refusals) }),
}

var (
	xdsVersion = series.NewDesc("xds_version_info",
		"Version of the last push, as the control plane names it.", "type", "version")
	xdsResources = series.NewDesc("xds_resources", "Current number of resources, by state.", "type", "state")
)

// NewControlPlane returns a collector of the client of the control plane. It calls read once for each scrape, on
// any goroutine; false: there is no control plane. states are all states of resources.
func NewControlPlane(read func() (stats.ControlPlane, bool), states []string) prometheus.Collector {
	return series.NewCollector(func(s *series.Scrape) {
		x, ok := read()
		if !ok {
			return
		}
		xdsTable.Send(s.Of(), &x)
		for i := range x.Types {
			t := &x.Types[i]
			of := s.Of("type", t.Type)
			xdsTypeTable.Send(of, t)
			of.Value(xdsVersion, 1, "version", t.Version)
			for _, state := range states {
				of.Value(xdsResources, float64(t.States[state]), "state", state)
			}
		}
	}, xdsTable, xdsTypeTable, xdsVersion, xdsResources)
}
