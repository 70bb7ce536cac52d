package handover

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Version numbers the frames that this process writes.
const Version = 1

const (
	prefix     = 8        // bytes of the two lengths of a frame
	maxHeader  = 16 << 20 // bytes
	maxPayload = 1 << 30  // bytes
)

// ErrVersion reports a frame of a version that this process does not read.
var ErrVersion = errors.New("the connections are described in a version that this process does not know")

// ErrMalformed reports a frame or an answer that breaks the rules.
var ErrMalformed = errors.New("malformed handover")

// header has what a frame says in JSON.
type header struct {
	Version        int      `json:"version"`
	Records        []Record `json:"records"`
	NoMoreSessions bool     `json:"no_more_sessions,omitempty"`
	Ends           []End    `json:"ends,omitempty"`
}

// Frame holds a batch of connections.
type Frame struct {
	Records []Record
	Unsent  []byte // the bytes of all records, in order: those from the client first
	// NoMoreSessions says that all sessions of UDP have come that can: clients' datagrams wait for them.
	NoMoreSessions bool
	Ends           []End
}

// End says that a connection of an earlier batch is to be reset: it was to be in the process that offered it, while
// that waited for the answer.
type End struct {
	ID uint64 `json:"id"`
	By string `json:"by"` // as the access log says it
}

// Append appends the encoding of the frame to b.
func (f *Frame) Append(b []byte) ([]byte, error) {
	text, err := json.Marshal(header{Version, f.Records, f.NoMoreSessions, f.Ends})
	if err != nil {
		return b, err
	}
	b = slices.Grow(b, prefix+len(text)+len(f.Unsent)) // now, while there are no secrets to be copied
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.Unsent)))
	b = append(append(b, text...), f.Unsent...)
	clear(text) // it may have secrets
	return b, nil
}

// Missing returns how many bytes are missing at least until b, which begins with a frame, has all of it.
func Missing(b []byte) (int, error) {
	if len(b) < prefix {
		return prefix - len(b), nil
	}
	head, rest := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if head > maxHeader || rest > maxPayload {
		return 0, fmt.Errorf("%w: a frame of %d and %d bytes", ErrMalformed, head, rest)
	}
	return max(prefix+int(head)+int(rest)-len(b), 0), nil
}

// Decode decodes a whole frame, which refers to b. The error matches [ErrVersion] or [ErrMalformed].
func Decode(b []byte) (f Frame, err error) {
	switch missing, err := Missing(b); {
	case err != nil:
		return f, err
	case missing != 0:
		return f, fmt.Errorf("%w: %d bytes are missing", ErrMalformed, missing)
	}
	end := prefix + int(binary.BigEndian.Uint32(b))
	var h header
	if err := json.Unmarshal(b[prefix:end], &h); err != nil {
		return f, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if h.Version < Version-1 || h.Version > Version+1 {
		return f, fmt.Errorf("%w: version %d, and it reads %d to %d", ErrVersion, h.Version, Version-1, Version+1)
	}
	f = Frame{h.Records, b[end : end+int(binary.BigEndian.Uint32(b[4:]))], h.NoMoreSessions, h.Ends}
	left := len(f.Unsent)
	for i := range f.Records {
		r := &f.Records[i]
		if !r.valid(left) {
			return Frame{}, fmt.Errorf("%w: record %d", ErrMalformed, i)
		}
		left -= r.Unsent()
	}
	if left != 0 {
		return Frame{}, fmt.Errorf("%w: %d bytes belong to no record", ErrMalformed, left)
	}
	return f, nil
}

// valid reports whether the numbers of a record are possible, with so many unsent bytes left in the frame.
func (r *Record) valid(left int) bool {
	for i := range r.Sides {
		s := &r.Sides[i]
		if s.Unsent < 0 || s.Unsent > left || s.Piped < 0 || s.State > Closed || s.Flow > Broken ||
			s.Unsent != 0 && s.Piped != 0 {
			return false
		}
		left -= s.Unsent
	}
	return r.LastFrom <= Server && (r.Reset == nil || *r.Reset <= Server) && (r.Session == nil || r.Session.valid())
}

// Unknown returns what the record needs and this process does not know, or "".
func (r *Record) Unknown() string {
	for _, what := range r.Needs {
		if what != NeedsUDP && what != NeedsTLS {
			return what
		}
	}
	return ""
}

// Answer says what has become of a batch. The connections that are not refused belong to the process that answers from
// then on.
type Answer struct {
	// Refused has the reasons by the indices of records. These connections stay where they are.
	Refused map[int]string `json:"refused,omitempty"`
	// Error is why the whole batch is refused, and so would be further ones; "" if it is not.
	Error string `json:"error,omitempty"`
}

// Refuse notes that the record with an index is refused.
func (a *Answer) Refuse(i int, why string) {
	if a.Refused == nil {
		a.Refused = map[int]string{}
	}
	a.Refused[i] = why
}

// maxAnswer bounds the JSON of an answer.
const maxAnswer = 1 << 20

// Append appends the encoding of the answer to b.
func (a *Answer) Append(b []byte) ([]byte, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return b, err
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...), nil
}

// DecodeAnswer decodes the answer that b begins with. ok is false if some of it is missing.
func DecodeAnswer(b []byte) (a Answer, ok bool, err error) {
	if len(b) < 4 {
		return a, false, nil
	}
	n := binary.BigEndian.Uint32(b)
	if n > maxAnswer {
		return a, false, fmt.Errorf("%w: an answer of %d bytes", ErrMalformed, n)
	}
	if len(b) < 4+int(n) {
		return a, false, nil
	}
	if err := json.Unmarshal(b[4:4+n], &a); err != nil {
		return a, false, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return a, true, nil
}
