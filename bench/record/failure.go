package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// Failure is a kind of error that a run counts.
type Failure uint8

// The kinds. From Ports on they are failures of the generator's machine, not of the target.
const (
	Refused     Failure = iota // no process listens, or the backlog is full
	Reset                      // the target reset the connection
	Closed                     // the target closed a connection that should stay open
	Timeout                    // no connection or no reply in time
	Short                      // EOF in the middle of a reply
	Corrupt                    // the received bytes differ from the sent ones
	Excess                     // more bytes were received than expected
	Status                     // the reply reports a failure, such as HTTP 503
	Protocol                   // the reply violates the protocol
	Handshake                  // the TLS handshake failed
	Unsent                     // the phase ended before the message could be sent
	Unreachable                // no route
	Ports                      // the local ports were used up
	Descriptors                // the descriptors were used up
	Memory                     // the kernel had no memory for a socket
	Other
	failures // the number of kinds
)

var failureNames = [failures]string{"refused", "reset", "closed", "timeout", "short", "corrupt", "excess", "status",
	"protocol", "handshake", "unsent", "unreachable", "ports", "descriptors", "memory", "other"}

func (f Failure) String() string { return failureNames[f] }

// Advice returns a short advice about failures of this kind, or "".
func (f Failure) Advice() string {
	switch f {
	case Refused:
		return "does the target listen?"
	case Ports:
		return "the local ports to this target are used up; more source addresses (--source 127.0.0.2-127.0.0.9), " +
			"closing by --close rst, or fewer connections help"
	case Descriptors:
		return "raise the limit of open files (ulimit -n), or use fewer connections"
	case Unsent:
		return "the target was slower than the schedule"
	case Excess:
		return "the target sends more than was asked for: is it an echo server?"
	case Handshake:
		return "is the target a TLS server whose certificate is trusted? (--ca, --insecure)"
	}
	return ""
}

// FailureOf returns the kind of an error of a socket operation.
func FailureOf(err error) Failure {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return Other
	}
	switch errno {
	case syscall.ECONNREFUSED, syscall.ENOENT: // the path of a unix socket does not exist
		return Refused
	case syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED, syscall.ENOTCONN:
		return Reset
	case syscall.ETIMEDOUT:
		return Timeout
	case syscall.EADDRNOTAVAIL, syscall.EADDRINUSE:
		return Ports
	case syscall.EMFILE, syscall.ENFILE:
		return Descriptors
	case syscall.ENOBUFS, syscall.ENOMEM:
		return Memory
	case syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.EHOSTDOWN:
		return Unreachable
	case syscall.EAGAIN: // connect(2) to a unix socket whose backlog is full
		return Refused
	}
	return Other
}

// Failures are counts by kind. Its JSON is an object with the kinds that occurred.
type Failures [failures]int64

// Total returns the number of all failures.
func (f *Failures) Total() (n int64) {
	for _, k := range f {
		n += k
	}
	return n
}

// Add adds the counts of g.
func (f *Failures) Add(g *Failures) {
	for i, k := range g {
		f[i] += k
	}
}

// Most returns the most frequent kind.
func (f *Failures) Most() Failure {
	return Failure(slices.Index(f[:], slices.Max(f[:])))
}

// String lists the kinds that occurred: "3 reset, 1 timeout".
func (f Failures) String() string {
	var said []string
	for i, n := range f {
		if n != 0 {
			said = append(said, fmt.Sprintf("%d %s", n, Failure(i)))
		}
	}
	return strings.Join(said, ", ")
}

// MarshalJSON implements json.Marshaler.
func (f Failures) MarshalJSON() ([]byte, error) {
	named := map[string]int64{}
	for i, n := range f {
		if n != 0 {
			named[failureNames[i]] = n
		}
	}
	return json.Marshal(named)
}

// UnmarshalJSON implements json.Unmarshaler. Unknown kinds count as Other.
func (f *Failures) UnmarshalJSON(text []byte) error {
	var named map[string]int64
	if err := json.Unmarshal(text, &named); err != nil {
		return err
	}
	*f = Failures{}
	for name, n := range named {
		i := slices.Index(failureNames[:], name)
		if i < 0 {
			i = int(Other)
		}
		f[i] += n
	}
	return nil
}
