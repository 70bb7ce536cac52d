package simring

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// Kernel is a machine: files, sockets, a clock, threads and rings. It is used by one goroutine.
type Kernel struct {
	Odds Odds // may be changed before Run

	rng     *rand.Rand
	now     int64
	events  events
	threads []*Thread
	current *Thread
	files   []*file // by descriptor, from firstFd
	opened  int     // open files
	ports   map[place][]socket
	names   map[string]*unixSocket // abstract ones
	disk    *disk
	port    uint16 // the last that was given
	pids    int    // processes that were ever started

	children []*child
	waiting  []*entry // for the end of one
	rings    []*Ring
	notices  []*notice
	errs     []error

	underWay int // bytes, ends, completions: events that come by themselves in a moment
	spare    int // faults are off while it is not 0
	trace    io.Writer
}

// New makes a kernel. All its choices follow from the seed. What happens is written to trace, if that is not nil.
func New(seed uint64, trace io.Writer) *Kernel {
	k := &Kernel{
		rng: rand.New(rand.NewPCG(seed, 0)), now: 1, port: 30000, trace: trace,
		ports: map[place][]socket{}, names: map[string]*unixSocket{},
	}
	k.Odds = drawOdds(k.rng)
	k.disk = newDisk(k)
	k.log("odds %+v", k.Odds)
	return k
}

// Rand is the random source of the run. Programs draw from it as well.
func (k *Kernel) Rand() *rand.Rand { return k.rng }

// Now is the time in nanoseconds.
func (k *Kernel) Now() int64 { return k.now }

// Errorf records that something is wrong. The run then ends.
func (k *Kernel) Errorf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	k.log("WRONG: %v", err)
	k.errs = append(k.errs, err)
}

func (k *Kernel) chance(p float64) bool { return p > 0 && k.spare == 0 && k.rng.Float64() < p }

// upTo is a random duration of 1 to d.
func (k *Kernel) upTo(d time.Duration) time.Duration {
	return 1 + time.Duration(k.rng.Int64N(int64(d)))
}

func (k *Kernel) log(format string, args ...any) {
	if k.trace == nil {
		return
	}
	thread := "kernel"
	if k.current != nil {
		thread = k.current.name
	}
	fmt.Fprintf(k.trace, "%12.6fms %-10s %s\n", float64(k.now)/1e6, thread, fmt.Sprintf(format, args...))
}

// finish asserts that nothing is left, and returns all that was wrong.
func (k *Kernel) finish() error {
	for _, f := range k.files {
		if f != nil {
			k.Errorf("simring: descriptor %d (%v) was left open", f.fd, f)
			k.unref(f)
		}
	}
	if k.opened != 0 {
		k.Errorf("simring: %d open files are left that no descriptor is of", k.opened)
	}
	for i, r := range k.rings {
		if !r.closed {
			k.Errorf("simring: ring %d was left open", i)
		}
	}
	return errors.Join(k.errs...)
}
