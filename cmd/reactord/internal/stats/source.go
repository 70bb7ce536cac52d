package stats

import "time"

// Source finds servers of a backend.
type Source struct {
	Name        string    `json:"name" doc:"What it queries, such as dns NAME."`
	Backend     string    `json:"backend"`
	Servers     int       `json:"servers" doc:"Servers in its last good answer."`
	Lookups     uint64    `json:"lookups" doc:"Attempts so far."`
	Failures    uint64    `json:"failures" doc:"Failed attempts."`
	LastSuccess time.Time `json:"last_success,omitzero" doc:"Time of the last good answer."`
	LastError   string    `json:"last_error,omitempty" doc:"Why the last attempt failed. Empty if it succeeded."`
	LastFailure time.Time `json:"last_failure,omitzero"`

	Found      int          `json:"-"` // servers of the last successful lookup, in force or not
	Results    Tally[Count] `json:"-"` // lookups by result
	Successful bool         `json:"-"` // what it has last said is in force
}
