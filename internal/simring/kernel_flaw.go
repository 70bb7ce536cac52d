package simring

// Flaw is something that a ring does wrong on purpose, as a faulty kernel or interpreter of entries would: what
// asserts that a run was right must find it.
type Flaw string

// The flaws.
const (
	Flawless Flaw = ""

	LoseBytes       Flaw = "lose bytes"       // a receive that is cancelled drops a byte that had arrived
	CompleteTwice   Flaw = "complete twice"   // a final completion is delivered a second time
	LoseWakeups     Flaw = "lose wakeups"     // Wake does nothing
	ReuseBuffers    Flaw = "reuse buffers"    // the ring fills a provided buffer that is in use
	UnderreportSend Flaw = "underreport send" // a short send says one byte less than it has sent

	LoseNotifications     Flaw = "lose notifications"      // a zero-copy send has no second completion
	LoseCancels           Flaw = "lose cancels"            // a cancel completes with 0, and its target stays in flight
	LoseWrites            Flaw = "lose writes"             // a write to a file completes, and changes nothing
	WrongSender           Flaw = "wrong sender"            // a datagram has the source address of the one before
	Oversleep             Flaw = "oversleep"               // Enter waits for longer than the timeout
	LoseReadiness         Flaw = "lose readiness"          // a poll is not woken
	LoseAccepts           Flaw = "lose accepts"            // an accept drops a connection and says ECONNABORTED
	LoseSplicedBytes      Flaw = "lose spliced bytes"      // a splice takes one byte more than it delivers
	TeeConsumes           Flaw = "tee consumes"            // a tee takes the bytes out of the pipe
	SkipDirents           Flaw = "skip dirents"            // a listing of a directory leaves names out
	LoseEventCounts       Flaw = "lose event counts"       // an eventfd is read as one less
	LoseExits             Flaw = "lose exits"              // waiting for a child is not woken when it exits
	LosePassedDescriptors Flaw = "lose passed descriptors" // SCM_RIGHTS are dropped without MSG_CTRUNC
)

// Flaws are the flaws that every program with connections must find.
var Flaws = []Flaw{LoseBytes, CompleteTwice, LoseWakeups, ReuseBuffers, UnderreportSend}

// FurtherFlaws are the flaws that only programs can find that use the flawed part.
var FurtherFlaws = []Flaw{
	LoseNotifications, LoseCancels, LoseWrites, WrongSender, Oversleep, LoseReadiness, LoseAccepts, LoseSplicedBytes,
	TeeConsumes, SkipDirents, LoseEventCounts, LoseExits, LosePassedDescriptors,
}

// flawed reports whether the flaw shows this time.
func (k *Kernel) flawed(f Flaw) bool { return k.Odds.Flaw == f && k.chance(0.1) }
