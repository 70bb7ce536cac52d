// Package compare says whether results differ, and by how much.
//
// Each measured phase of a result is one sample of every metric; a comparison is of the medians. The
// interval of the change is a bootstrap: samples are drawn anew from those that there are, with
// replacement, ten thousand times, and the middle 95 per cent of the changes of their medians is the
// interval (the percentile method; Efron and Tibshirani, An Introduction to the Bootstrap, ch. 13). It
// is always drawn from the same seed, so that the same files give the same answer.
//
//	faster, slower…  the interval does not contain "no change"
//	no difference    it does
//	too few samples  one side has fewer than five
//
// What the samples do not show, no arithmetic does: measure both sides in turn on a quiet machine.
package compare
