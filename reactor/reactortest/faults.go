package reactortest

import (
	"reflect"
	"time"

	"github.com/reactord/reactord/internal/simring"
)

// Faults are the probabilities, at each opportunity, of the faults that happen to the program under test. The zero
// value is a machine without faults. At first the seed draws them: about half of them cannot happen in a run, and the
// others are more or less likely. Seed 0 has none.
//
// None of them breaks the contract of the kernel or of package reactor: a correct program survives all of them.
type Faults struct {
	// Of the ring.
	ShortTransfer  float64 // a transfer moves fewer bytes than it could
	LateCompletion float64 // a completion is delayed
	FutileWait     float64 // an entry that waits for readiness completes with EAGAIN
	EndMultishot   float64 // a multishot entry ends with an item
	SpuriousReturn float64 // the loop wakes up for nothing
	NoBuffer       float64 // a receive finds no buffer, although there are some
	CancelRace     float64 // a cancel finds its target past stopping
	MissedCancel   float64 // a cancel does not find or stop its target, which is in flight
	Interrupted    float64 // the call of a worker fails with EINTR
	OldKernel      float64 // a ring lacks an opcode or a feature that not all kernels have

	// Of sockets and descriptors.
	NoDescriptor       float64 // EMFILE or ENFILE
	AbortedAccept      float64 // accepting a connection that was reset fails with ECONNABORTED
	RefusedConnect     float64 // a connect is refused
	SilentConnectError float64 // a connect that has failed completes with 0, and SO_ERROR reports it
	LostDatagram       float64 // a datagram, or the ICMP message that it was refused, does not arrive
	DuplicateDatagram  float64 // a datagram arrives twice
	ReorderedDatagram  float64 // a datagram arrives after later ones

	// Of the disk.
	CacheMiss float64 // the data read or written is not in the page cache, so that a worker does it
	IOError   float64 // EIO
	NoSpace   float64 // ENOSPC although there is space

	// Of time.
	SlowEvent  float64 // something takes a thousand times as long
	Preemption float64 // other threads run before a system call
}

// Limits bound the sizes of things on a machine. At first the seed draws all but Descriptors and Disk. A field that is
// 0 leaves a limit as it is.
type Limits struct {
	Descriptors  int           // that the program can have open; those of peers do not count. At first 65 536
	Backlog      int           // connections that wait for a listener, as net.core.somaxconn. At first 4096
	SocketBuffer int           // bytes that a socket holds in each direction: 4096 to 65 536
	Completions  int           // that a ring holds: 1 to 128
	Workers      int           // threads of a ring: 1 to 4
	Disk         int64         // bytes. At first 1 GiB
	Delay        time.Duration // the longest time that something takes on the machine itself: up to 1 ms
}

// calm are the odds of seed 0.
var calm = simring.Odds{
	Latency: 10 * time.Microsecond, Buffer: 1 << 16, Backlog: 4096, Files: 1 << 16, CQ: 128, Workers: 4, Disk: 1 << 30,
}

// Faults returns the faults of the machine.
func (m *Machine) Faults() (f Faults) {
	copyFields(reflect.ValueOf(&f).Elem(), reflect.ValueOf(m.k.Odds))
	return f
}

// SetFaults changes the faults of the machine, at any time. Machines that it makes later have them, too. The flag
// -reactortest.faults still excludes some.
func (m *Machine) SetFaults(f Faults) {
	odds := reflect.ValueOf(&m.k.Odds).Elem()
	from := reflect.ValueOf(f)
	for _, field := range reflect.VisibleFields(from.Type()) {
		odds.FieldByName(field.Name).SetFloat(from.FieldByName(field.Name).Float())
	}
	if m.r.faults != nil {
		m.k.Odds = m.k.Odds.Only(m.r.faults...)
	}
}

// copyFields copies the fields of to from those of the same names.
func copyFields(to, from reflect.Value) {
	for _, field := range reflect.VisibleFields(to.Type()) {
		to.FieldByName(field.Name).Set(from.FieldByName(field.Name))
	}
}

// Limits returns the limits of the machine.
func (m *Machine) Limits() Limits {
	o := &m.k.Odds
	return Limits{
		Descriptors: o.Files, Backlog: o.Backlog, SocketBuffer: o.Buffer, Completions: o.CQ, Workers: o.Workers, Disk: o.Disk,
		Delay: o.Latency,
	}
}

// SetLimits changes the limits of the machine, at any time. Machines that it makes later have them, too.
func (m *Machine) SetLimits(l Limits) {
	o := &m.k.Odds
	set(&o.Files, l.Descriptors)
	set(&o.Backlog, l.Backlog)
	set(&o.Buffer, l.SocketBuffer)
	set(&o.CQ, l.Completions)
	set(&o.Workers, l.Workers)
	set(&o.Disk, l.Disk)
	set(&o.Latency, l.Delay)
}

func set[T int | int64 | time.Duration](to *T, v T) {
	if v > 0 {
		*to = v
	}
}
