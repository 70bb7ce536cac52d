// Package trial carries out a run of the load generator: it opens the connections, warms up, makes the
// load in the shape that was asked for, and writes down what came of it, with what it cost and what
// makes it doubtful.
//
// The phases of a run, each of them a [record.Phase]:
//
//	set-up    connections are opened
//	warm-up   the load runs at its first rate, for Plan.WarmUp
//	ramp      the rate grows from 0 to its first value, for Plan.Ramp
//	search    with Plan.Demands: trials of Plan.Trial each, halving the interval in which the highest
//	          rate lies that meets them, until it is narrower than 2 per cent; a rate that fails is tried
//	          again, Plan.Tries times in all, before it counts as too high
//	measure   Plan.Time at each of the rates of Plan.Rates, and all that Plan.Repeats times
//
// A [Soak] watches the target meanwhile, and judges whether it grows.
//
// Only the last are shown in tables and compared. A run that fails returns what it found with the
// error, and the error is in the result as well.
package trial
