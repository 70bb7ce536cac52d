package simring

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Odds say how often each fault happens, as a probability at each opportunity, and how large things are. With the
// zero value of all probabilities the machine has no faults; the sizes must be set.
type Odds struct {
	// Faults of a ring.
	ShortTransfer  float64 // a transfer moves fewer bytes than it could
	LateCompletion float64 // a completion is delayed
	FutileWait     float64 // an entry that waits for readiness completes with EAGAIN
	EndMultishot   float64 // a multishot entry ends with an item
	SpuriousReturn float64 // Enter returns without a completion, a Wake, or the timeout
	NoBuffer       float64 // a receive completes with ENOBUFS although there are buffers
	CancelRace     float64 // a cancel finds its target past stopping
	MissedCancel   float64 // a cancel does not find or stop its target, which is in flight
	Interrupted    float64 // what a worker does fails with EINTR
	OldKernel      float64 // a ring lacks an opcode or a feature that not all kernels have

	// Faults of sockets and descriptors.
	NoDescriptor       float64 // EMFILE or ENFILE
	AbortedAccept      float64 // accepting a connection that was reset fails with ECONNABORTED
	RefusedConnect     float64 // a connect is refused
	SilentConnectError float64 // a connect that has failed completes with 0, and SO_ERROR tells
	LostDatagram       float64 // a datagram, or the ICMP message that it was refused, does not arrive
	DuplicateDatagram  float64 // a datagram arrives twice
	ReorderedDatagram  float64 // a datagram arrives after later ones

	// Faults of the disk.
	CacheMiss float64 // what is read or written is not in the page cache, so that a worker does it
	IOError   float64 // EIO
	NoSpace   float64 // ENOSPC although there is space

	// Faults of time.
	SlowEvent  float64 // something takes a thousand times as long
	Preemption float64 // other threads run before a system call

	Latency time.Duration // the longest time that something takes
	Buffer  int           // bytes that a socket holds in each direction
	Backlog int           // connections that wait for a listener at most; 0: as many as it asks for
	Files   int           // descriptors that there can be
	CQ      int           // completions that a ring holds
	Workers int           // worker threads of a ring
	CPUs    int           // that receive packets, chosen by the port of the sender; 0: one
	Disk    int64         // bytes that fit on the disk

	Flaw Flaw
}

// drawOdds makes about half of the faults impossible and the others more or less likely: so runs differ more than
// if all faults happened in all of them.
func drawOdds(rng *rand.Rand) Odds {
	upTo := func(most float64) float64 {
		if rng.IntN(2) == 0 {
			return 0
		}
		return most * rng.Float64()
	}
	return Odds{
		ShortTransfer: upTo(0.8), LateCompletion: upTo(0.5), FutileWait: upTo(0.5), EndMultishot: upTo(0.5),
		SpuriousReturn: upTo(0.3), NoBuffer: upTo(0.3), CancelRace: upTo(0.8), MissedCancel: upTo(0.5),
		Interrupted: upTo(0.2), OldKernel: upTo(1),
		NoDescriptor: upTo(0.2), AbortedAccept: upTo(0.2), RefusedConnect: upTo(0.2), SilentConnectError: upTo(1),
		LostDatagram: upTo(0.3), DuplicateDatagram: upTo(0.3), ReorderedDatagram: upTo(0.5),
		CacheMiss: upTo(2), IOError: upTo(0.1), NoSpace: upTo(0.1),
		SlowEvent: upTo(0.02), Preemption: upTo(0.3),
		Latency: time.Duration(1 + rng.IntN(1<<rng.IntN(21))),
		Buffer:  1 << (4 + rng.IntN(12)),
		Backlog: 4096,
		Files:   1 << 16,
		CQ:      1 << rng.IntN(8),
		Workers: 1 + rng.IntN(4),
		Disk:    1 << 30,
	}
}

// String lists the odds, without the faults that cannot happen.
func (o Odds) String() string {
	b := new(strings.Builder)
	v := reflect.ValueOf(o)
	for _, f := range reflect.VisibleFields(v.Type()) {
		switch x := v.FieldByIndex(f.Index); {
		case x.IsZero():
		case x.CanFloat():
			fmt.Fprintf(b, "%s %.3f, ", f.Name, x.Float())
		default:
			fmt.Fprintf(b, "%s %v, ", f.Name, x.Interface())
		}
	}
	return strings.TrimSuffix(b.String(), ", ")
}

// Faults returns the names of all faults, which are the names of their fields.
func (o Odds) Faults() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Odds]()) {
		if f.Type.Kind() == reflect.Float64 {
			names = append(names, f.Name)
		}
	}
	return names
}

// Possible returns the faults that can happen; not nil.
func (o Odds) Possible() []string {
	faults := []string{}
	for _, name := range o.Faults() {
		if o.Has(name) {
			faults = append(faults, name)
		}
	}
	return faults
}

// Only returns o with the faults that are named, and no others.
func (o Odds) Only(faults ...string) Odds {
	v := reflect.ValueOf(&o).Elem()
	for _, name := range o.Faults() {
		if !slices.Contains(faults, name) {
			v.FieldByName(name).SetFloat(0)
		}
	}
	return o
}

// Has reports whether a fault can happen.
func (o Odds) Has(fault string) bool { return reflect.ValueOf(o).FieldByName(fault).Float() > 0 }
