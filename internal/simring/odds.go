package simring

import (
	"math/rand/v2"
	"time"
)

// Odds are how likely each fault is at each opportunity, and how large things are. The zero value is a
// machine without faults, but for sizes, that must be set.
type Odds struct {
	Short      float64 // a transfer moves less than it could
	Late       float64 // a completion takes its time
	Vain       float64 // a wait that turned out to be in vain is given up with EAGAIN
	Early      float64 // a multishot entry ends with an item
	Nothing    float64 // a ring that waits returns for nothing
	NoBuffer   float64 // a receive finds no buffer although there are some
	NoFile     float64 // EMFILE or ENFILE
	Gone       float64 // a connection was gone before it was accepted
	Refused    float64 // a connect is refused
	Unsaid     float64 // a connect that has failed completes as if it had not, and SO_ERROR tells
	Slow       float64 // something takes a thousand times as long
	CancelRace float64 // a cancel comes when its target is past stopping

	Lost        float64 // a datagram, or what tells that it was refused, does not arrive
	Doubled     float64 // a datagram arrives twice
	Overtaken   float64 // a datagram arrives after later ones
	Cold        float64 // what is read or written is not in the cache, so that a worker does it
	Broken      float64 // EIO
	NoSpace     float64 // ENOSPC although there is some
	Interrupted float64 // EINTR, of what a worker does
	Old         float64 // a ring lacks something that not all kernels have
	Preempted   float64 // other threads go on before a system call

	Latency time.Duration
	Buffer  int   // bytes that a socket holds in each direction
	Files   int   // descriptors that there can be
	CQ      int   // completions that a ring holds
	Workers int   // worker threads that a ring has
	Disk    int64 // bytes that fit on the disk

	Flaw Flaw
}

// draw makes some faults impossible and the others more or less likely: runs differ more than if all
// faults were as likely in all of them.
func draw(rng *rand.Rand) Odds {
	odds := func(most float64) float64 {
		if rng.IntN(2) == 0 {
			return 0
		}
		return most * rng.Float64()
	}
	return Odds{
		Short: odds(0.8), Late: odds(0.5), Vain: odds(0.5), Early: odds(0.5), Nothing: odds(0.3), NoBuffer: odds(0.3),
		NoFile: odds(0.2), Gone: odds(0.2), Refused: odds(0.2), Unsaid: odds(1), Slow: odds(0.02), CancelRace: odds(0.8),
		Latency: time.Duration(1 + rng.IntN(1<<rng.IntN(21))),
		Buffer:  1 << (4 + rng.IntN(12)),
		Files:   1 << 16,
		CQ:      1 << rng.IntN(8),

		Lost: odds(0.3), Doubled: odds(0.3), Overtaken: odds(0.5),
		Cold: odds(2), Broken: odds(0.1), NoSpace: odds(0.1), Interrupted: odds(0.2), Old: odds(1),
		Workers: 1 + rng.IntN(4), Disk: 1 << 30, Preempted: odds(0.3),
	}
}

// Flaw is something that a ring does wrong on purpose: what asserts that a run was right must find it.
type Flaw string

// The flaws.
const (
	Flawless      Flaw = ""
	LoseBytes     Flaw = "lose bytes"     // what a cancelled receive had taken is lost
	CompleteTwice Flaw = "complete twice" // a final completion comes once more
	LoseWakeups   Flaw = "lose wake-ups"  // Wake does nothing
	KeepBuffers   Flaw = "keep buffers"   // the buffer of a completion is still in the ring
	Duplicate     Flaw = "duplicate"      // a send that was short says it was shorter

	LoseNotices Flaw = "lose notices" // a zero-copy send has no notification
	LoseCancels Flaw = "lose cancels" // a cancel says that it has cancelled, and has not
	LoseWrites  Flaw = "lose writes"  // what was written to a file is not there
	MixSenders  Flaw = "mix senders"  // a datagram is said to come from who sent the one before

	Oversleep     Flaw = "oversleep"      // a ring waits for longer than it was told to
	LoseReadiness Flaw = "lose readiness" // a poll is not woken
	LoseAccepts   Flaw = "lose accepts"   // an accept says that the connection it has taken was gone
	LoseSpliced   Flaw = "lose spliced"   // what was spliced is less than it took
	TeeTakes      Flaw = "tee takes"      // what was copied from a pipe is not in it any more
	SkipEntries   Flaw = "skip entries"   // a directory does not tell of all that is in it
	LoseCounts    Flaw = "lose counts"    // an eventfd is read as one less
	LoseExits     Flaw = "lose exits"     // who waits for a child is not woken when it ends
	LosePassed    Flaw = "lose passed"    // a descriptor that was passed does not arrive, and nobody says so
)

// flawed reports whether, this time, the flaw shows.
func (k *Kernel) flawed(f Flaw) bool { return k.Odds.Flaw == f && k.chance(0.1) }

// Flaws are those that every program with connections must find.
var Flaws = []Flaw{LoseBytes, CompleteTwice, LoseWakeups, KeepBuffers, Duplicate}

// FurtherFlaws are those that a program finds that does what they are about.
var FurtherFlaws = []Flaw{
	LoseNotices, LoseCancels, LoseWrites, MixSenders, Oversleep, LoseReadiness, LoseAccepts, LoseSpliced, TeeTakes,
	SkipEntries, LoseCounts, LoseExits, LosePassed,
}
