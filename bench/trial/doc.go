// Package trial carries out a run of the load generator. A [Run] opens the connections, warms up, generates the load of
// its [Plan], and records the result: what was measured, what it cost, and what makes it doubtful.
//
// A run has these phases, each of them a [record.Phase]:
//
//	set-up    connections are opened
//	warm-up   the load runs at its first rate, for Plan.WarmUp; if bytes are to be compared, until some were
//	ramp      the rate grows from 0 to its first value, for Plan.Ramp
//	search    with Plan.Demands: trials of Plan.Trial each. They halve the interval that contains the
//	          highest rate which meets the demands, until it is narrower than 2 per cent. A rate that
//	          fails is tried again, Plan.Tries times in all, before it counts as too high
//	measure   Plan.Time at each of the rates of Plan.Rates, all of them Plan.Repeats times
//
// Only the phases of the kind measure are shown in tables and compared. With a [Soak] the target is watched during the
// run, and the run fails if the target grows.
//
// A run that fails returns what it has recorded together with the error. The error is also in the result.
package trial
