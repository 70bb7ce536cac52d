package discovery

import (
	"context"
	"errors"
	"maps"
	"os"
	"sync"
	"time"
)

// The results of attempts, as [Stats] count them.
const (
	ResultOK      = "ok"
	ResultNoName  = "nxdomain" // DNS: the name does not exist
	ResultEmpty   = "empty"    // the name has no such records, the file no content
	ResultFailure = "servfail" // DNS: the server failed or refused
	ResultTimeout = "timeout"
	ResultInvalid = "invalid" // the content is wrong
	ResultError   = "error"   // everything else
)

// Results are all of them, so that each series exists from the start.
var Results = []string{
	ResultOK, ResultNoName, ResultEmpty, ResultFailure, ResultTimeout, ResultInvalid, ResultError,
}

// Stats are the counters of a source. They are those of reactord_discovery_lookups_total{backend,source,result},
// reactord_discovery_last_success_timestamp_seconds and reactord_discovery_servers.
type Stats struct {
	Lookups     map[string]uint64 // attempts, by result
	LastSuccess time.Time         // zero: there was none
	Servers     int               // that are known now
}

// The errors that are counted each for itself.
var (
	errNoName  = errors.New("the name does not exist")
	errEmpty   = errors.New("there are no servers")
	errFailure = errors.New("the DNS server cannot answer")
	errInvalid = errors.New("the content is wrong")
)

// stats is a Stats that is written by one goroutine and read by others.
type stats struct {
	mu sync.Mutex
	s  Stats
}

func (s *stats) note(f found) {
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

// heard notes an event, which is no lookup. known is whether the number of servers is.
func (s *stats) heard(servers int, known bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.s.LastSuccess = time.Now()
	}
	if known {
		s.s.Servers = servers
	}
}

// Stats are the counters so far.
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
