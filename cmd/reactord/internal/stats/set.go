package stats

import "time"

// Set is a live set of networks or of server names.
type Set struct {
	Name    string      `json:"name"`
	Type    string      `json:"type" enum:"networks,server_names" doc:"What the set has."`
	Entries int         `json:"entries" doc:"Entries of all sources, of which several may be in another one."`
	Added   int         `json:"added" doc:"Entries that were added by this API, and are among them."`
	Bytes   int         `json:"bytes" doc:"Memory that the entries take."`
	Sources []SetSource `json:"sources" doc:"Where the entries come from."`
}

// SetSource is a source of a set.
type SetSource struct {
	Kind        string    `json:"kind" enum:"entries,file,http,crowdsec"`
	Name        string    `json:"name" doc:"Path or URL."`
	Entries     int       `json:"entries" doc:"Entries in force."`
	Successful  bool      `json:"successful" doc:"Whether the last attempt was successful."`
	Attempts    uint64    `json:"attempts" doc:"Reads of the file or requests so far. An unchanged file is not read."`
	Failures    uint64    `json:"failures" doc:"Attempts that failed, or whose contents were refused."`
	LastSuccess time.Time `json:"last_success,omitzero" doc:"Absent: there was none."`
	LastFailure time.Time `json:"last_failure,omitzero"`
	LastError   string    `json:"last_error,omitempty" doc:"Why the last attempt failed. Absent: it did not."`
}
