package conformance

import (
	"time"

	"github.com/reactord/reactord/internal/simring"
	"github.com/reactord/reactord/sender/sendertest"
)

// fault is a fault of simulated kernels. may is what may come of a case with the fault, if want is what must come of it
// without; nil: the same.
type fault struct {
	set func(odds *simring.Odds, p float64) // p: its probability
	may func(how situation, want expectation) expectation
}

// faults are those that every case must pass with. EMFILE and refused connects are not among them: the peers would
// have them as well.
var faults = []fault{
	{func(o *simring.Odds, p float64) { o.ShortTransfer = p }, inPieces},
	{func(o *simring.Odds, p float64) { o.Latency = 1 + time.Duration(p*float64(time.Millisecond)) }, tooLate},
	{func(o *simring.Odds, p float64) { o.LateCompletion = p }, tooLate},
	{func(o *simring.Odds, p float64) { o.SlowEvent = p / 10 }, tooLate},
	{func(o *simring.Odds, p float64) { o.FutileWait = p }, tooLate},
	{func(o *simring.Odds, p float64) { o.NoBuffer = p }, tooLate},
	{func(o *simring.Odds, p float64) { o.EndMultishot = p }, again},
	{func(o *simring.Odds, _ float64) { o.CQ = 1 }, again},
	{func(o *simring.Odds, p float64) { o.AbortedAccept = p }, nil},
	{func(o *simring.Odds, p float64) { o.SilentConnectError = p }, nil},
	{func(o *simring.Odds, p float64) { o.CancelRace = p }, nil},
	{func(o *simring.Odds, p float64) { o.MissedCancel = p / 4 }, nil},
	{func(o *simring.Odds, p float64) { o.CacheMiss = p }, nil},
	{func(o *simring.Odds, p float64) { o.Interrupted = p / 2 }, nil},
	{func(o *simring.Odds, p float64) { o.SpuriousReturn = p }, nil},
}

// draw takes about half of the faults, each with a random probability.
func draw(k *simring.Kernel) (drawn []fault) {
	for _, f := range faults {
		if p := k.Rand().Float64(); k.Rand().IntN(2) == 0 {
			f.set(&k.Odds, p)
			drawn = append(drawn, f)
		}
	}
	return drawn
}

// inPieces expects bytes to arrive in more pieces than they were sent in; a stop request may come between two of them.
func inPieces(how situation, want expectation) expectation {
	want = again(how, want)
	return want.each(func(e completion) completion {
		if e.moved { // fewer; a second transfer may move what the first has left
			e = e.or(completion{channel: sendertest.OnValue, n: some})
		}
		e.fewer = e.fewer || how.name == stoppedAfterCompletion
		return e
	})
}

// tooLate expects that an operation that was to be complete when stop is requested may still be in flight.
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

// again allows further items: when the ring ends a multishot entry, the loop re-arms it, and a level that still holds
// is reported once more.
func again(_ situation, want expectation) expectation {
	want.more = want.more || want.items != 0
	return want
}
