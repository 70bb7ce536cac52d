package conformance

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/sender/sendertest"
)

// fault is something that a simulated kernel does now and then. may says what comes of a case, if want is
// what comes of it without the fault; nil: the same.
type fault struct {
	set func(odds *simring.Odds, p float64) // p: at how many opportunities of all
	may func(how situation, want expectation) expectation
}

// faults are those that any case has to bear. Want of descriptors and refused connects are not among
// them: they would be the peers' as well.
var faults = []fault{
	{func(o *simring.Odds, p float64) { o.ShortTransfer = p }, inPieces},
	{func(o *simring.Odds, p float64) { o.Latency = 1 + time.Duration(p*float64(time.Millisecond)) }, tooLate},
	{func(o *simring.Odds, p float64) { o.LateCompletion = p }, tooLate},
	{func(o *simring.Odds, p float64) { o.SlowEvent = p / 10 }, tooLate},
	{func(o *simring.Odds, p float64) { o.FutileWait = p }, tooLate},
	{func(o *simring.Odds, p float64) { o.NoBuffer = p }, tooLate},
	{func(o *simring.Odds, p float64) { o.EndMultishot = p }, again},
	{func(o *simring.Odds, _ float64) { o.CQ = 1 }, again},
	{func(o *simring.Odds, p float64) { o.AbortedAccept = p }, gone},
	{func(o *simring.Odds, p float64) { o.SilentConnectError = p }, nil},
	{func(o *simring.Odds, p float64) { o.CancelRace = p }, nil},
	{func(o *simring.Odds, p float64) { o.CacheMiss = p }, nil},
	{func(o *simring.Odds, p float64) { o.Interrupted = p / 2 }, nil},
	{func(o *simring.Odds, p float64) { o.SpuriousReturn = p }, nil},
}

// draw takes about half of the faults, each as likely as may be.
func draw(k *simring.Kernel) (drawn []fault) {
	for _, f := range faults {
		if p := k.Rand().Float64(); k.Rand().IntN(2) == 0 {
			f.set(&k.Odds, p)
			drawn = append(drawn, f)
		}
	}
	return drawn
}

// inPieces: bytes come in more pieces than they were sent in, and a stop may come between two of them.
func inPieces(how situation, want expectation) expectation {
	want = again(how, want)
	return want.each(func(e completion) completion {
		if e.moved { // fewer, and a second transfer more: what the first has left
			e = e.or(completion{channel: sendertest.OnValue, n: some})
		}
		e.fewer = e.fewer || how.name == stoppedAfterCompletion
		return e
	})
}

// tooLate: what was to be complete when its stop is requested may not be.
func tooLate(how situation, want expectation) expectation {
	if how.name != stoppedAfterCompletion {
		return want
	}
	want.items, want.more = 0, true
	return want.each(func(e completion) completion {
		e.fewer = true
		return e.or(completion{channel: sendertest.OnStopped})
	})
}

// again: when the ring ends a multishot entry, the loop re-arms it, and a level that still holds is reported once more.
func again(_ situation, want expectation) expectation {
	want.more = want.more || want.items != 0
	return want
}

// gone: a connection that was reset is not there any more when it is accepted.
func gone(how situation, want expectation) expectation {
	if how.name != resetBefore && how.name != resetMeanwhile {
		return want
	}
	return want.each(func(c completion) completion {
		return c.or(completion{channel: sendertest.OnError, errs: []error{unix.ECONNABORTED}})
	})
}
