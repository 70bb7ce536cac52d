package stats

import "time"

// History is what has happened lately, in points at equal distances. A point of -1 is not known: the process did not
// run yet, or nothing was measured.
type History struct {
	Ended  time.Time      `json:"ended" doc:"The time of the last point."`
	Ranges []HistoryRange `json:"ranges" doc:"The whole process: a point each second for five minutes, and every 10 s for an hour."`
	Rows   []HistoryRow   `json:"rows" doc:"The busiest and most failing listeners, backends and servers: a point every 10 s for an hour."`
}

// HistoryRange is the history of the process at one distance of points.
type HistoryRange struct {
	Step   Seconds         `json:"step_seconds" doc:"Distance of the points. The last one is the most recent."`
	Series []HistorySeries `json:"series"`
}

// HistorySeries is the history of a quantity.
type HistorySeries struct {
	Name   string    `json:"name" enum:"open,accepted,rejected,received,sent,connect_average,connect_99,ended_by_servers,ended_by_clients,ended_by_proxy,busy_average,busy_most,failed" doc:"Quantity: open connections; connections or bytes per second; seconds to connect; shares of time."`
	Points []float32 `json:"points"`
}

// HistoryRow is the history of a listener, a backend or a server.
type HistoryRow struct {
	Kind    string    `json:"kind" enum:"listener,backend,server"`
	Name    string    `json:"name"`
	Backend string    `json:"backend,omitempty" doc:"The backend of a server."`
	New     []float32 `json:"new" doc:"New connections per second."`
	Failed  []float32 `json:"failed" doc:"Failed connections or connects per second."`
}

// Failing is a failure that has occurred within the last hour.
type Failing struct {
	Failure
	Recent uint64    `json:"recent" doc:"Those of the last minute."`
	Share  float64   `json:"share" doc:"Share of recent among the connections of the listener that ended, or were rejected, in the last minute, from 0 to 1."`
	Last   time.Time `json:"last" doc:"Time of the last one, to a second."`
}
