package discovery

import (
	"context"
	"errors"
	"maps"
	"os"
	"sync"
	"time"
)

// Results of attempts, as counted in [Stats].
const (
	ResultOK      = "ok"
	ResultNoName  = "nxdomain" // DNS: the name does not exist
	ResultEmpty   = "empty"    // no such records, or no content in the file
	ResultFailure = "servfail" // DNS: the server failed or refused
	ResultTimeout = "timeout"
	ResultInvalid = "invalid" // invalid content
	ResultError   = "error"   // everything else
)

// Results lists all results, so that each series exists from the start.
var Results = []string{
	ResultOK, ResultNoName, ResultEmpty, ResultFailure, ResultTimeout, ResultInvalid, ResultError,
}

// Stats holds the counters of a source, for the series reactord_discovery_lookups_total,
// reactord_discovery_last_success_timestamp_seconds and reactord_discovery_servers.
type Stats struct {
	Lookups     map[string]uint64 // attempts, by result
	LastSuccess time.Time         // zero if there was none
	Servers     int               // currently known
}

// Errors with a separate count.
var (
	errNoName  = errors.New("the name does not exist")
	errEmpty   = errors.New("no servers")
	errFailure = errors.New("DNS server failure")
	errInvalid = errors.New("invalid content")
)

// stats is a Stats written by one goroutine and read by others.
type stats struct {
	mu sync.Mutex
	s  Stats
}

func (s *stats) note(f outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.s.Lookups == nil {
		s.s.Lookups = map[string]uint64{}
	}
	s.s.Lookups[resultOf(f.err)]++
	if f.err == nil {
		s.s.LastSuccess = time.Now()
	}
	if f.servers != nil {
		s.s.Servers = len(f.servers)
	}
}

// noteEvent records an event, which is not a lookup. known tells whether servers is.
func (s *stats) noteEvent(servers int, known bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.s.LastSuccess = time.Now()
	}
	if known {
		s.s.Servers = servers
	}
}

// Stats returns the counters so far.
func (s *stats) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.s
	out.Lookups = make(map[string]uint64, len(Results))
	for _, r := range Results {
		out.Lookups[r] = 0
	}
	maps.Copy(out.Lookups, s.s.Lookups)
	return out
}

func resultOf(err error) string {
	switch {
	case err == nil:
		return ResultOK
	case errors.Is(err, errNoName):
		return ResultNoName
	case errors.Is(err, errEmpty):
		return ResultEmpty
	case errors.Is(err, errFailure):
		return ResultFailure
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return ResultTimeout
	case errors.Is(err, errInvalid):
		return ResultInvalid
	default:
		return ResultError
	}
}
