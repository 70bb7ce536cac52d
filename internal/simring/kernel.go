package simring

import (
	"io"
	"math/rand/v2"
	"net/netip"
	"time"
)

// Kernel is a machine: files, sockets, a clock, threads and rings. It is used by one goroutine. Machines of one network
// (see [Kernel.NewMachine]) share the clock, the random source, and the run of their threads.
type Kernel struct {
	*world
	Odds Odds // may be changed at any time

	name       string
	firstFd    int // of its descriptors
	firstPid   int
	addrs      []netip.Addr        // its own; none: every address is
	own        map[netip.Addr]bool // the same
	links      map[*Kernel]*Link
	files      []*file      // by descriptor, from firstFd
	lowest     int          // no index below is free
	used       int          // of them
	foreign    map[int]bool // descriptors of other processes
	owners     map[int]*Victim
	attempting *Ring // whose operation is carried out
	abroad     int   // another process makes the calls while it is not 0
	opened     int   // open files
	ports      map[place][]socket
	names      map[string]*unixSocket // abstract ones
	disk       *disk
	port       uint16 // the last that was given
	pids       int    // processes that were ever started
	children   []*child
	waiting    []*entry // for the end of one
	rings      []*Ring
	notices    []*notice
	off        bool // it has no power
}

// uptimes are how long the machines have been up when a run begins, by its seed: one run of eight is of machines that
// have been up for ten years, so that no constant is greater than what a clock says.
var uptimes = [8]time.Duration{3: 10 * 365 * 24 * time.Hour}

// New makes a kernel. All its choices follow from the seed. What happens is written to trace, if that is not nil.
func New(seed uint64, trace io.Writer) *Kernel {
	booted := 1 + int64(uptimes[seed%uint64(len(uptimes))])
	w := &world{rng: rand.New(rand.NewPCG(seed, 0)), now: booted, booted: booted, trace: trace}
	k := newKernel(w)
	k.Odds = drawOdds(k.rng)
	k.disk = newDisk(k)
	return k
}

// newKernel makes a machine without a disk. The descriptors and processes of one mean nothing to the others.
func newKernel(w *world) *Kernel {
	n := len(w.machines)
	k := &Kernel{
		world: w, port: firstPort, firstFd: firstFd * (n + 1), firstPid: firstPid + n<<16,
		ports: map[place][]socket{}, names: map[string]*unixSocket{}, links: map[*Kernel]*Link{},
		foreign: map[int]bool{}, owners: map[int]*Victim{},
	}
	w.machines = append(w.machines, k)
	return k
}

// SetName gives the machine a name, which traces and errors say.
func (k *Kernel) SetName(name string) { k.name = name }

// onMachine names the machine that something is on, if there are several.
func (k *Kernel) onMachine() string {
	if len(k.machines) < 2 {
		return ""
	}
	return " on " + k.name
}

// finish asserts that nothing is left.
func (k *Kernel) finish() {
	on := k.onMachine()
	for _, f := range k.files {
		if f != nil {
			k.Errorf("simring: descriptor %d (%v) was left open%s", f.fd, f, on)
			k.unref(f)
		}
	}
	if k.opened != 0 {
		k.Errorf("simring: %d open files are left%s that no descriptor is of", k.opened, on)
	}
	for i, r := range k.rings {
		if !r.closed {
			k.Errorf("simring: ring %d%s was left open", i, on)
		}
	}
}
