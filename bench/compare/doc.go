// Package compare says whether results differ, and by how much. [Of] compares groups of results, and [ParseBound] reads
// a limit for a change.
//
// Each measured phase of a result is one sample of every metric. A comparison is between the medians. The interval
// of the change is a bootstrap interval: ten thousand resamples are drawn with replacement, and the interval has
// the middle 95 per cent of the changes of their medians (the percentile method; Efron and Tibshirani, An
// Introduction to the Bootstrap, ch. 13). The seed is fixed, so the same files always give the same interval.
//
//	faster, slower…  the interval does not contain "no change"
//	no difference    it does
//	too few samples  one side has fewer than five
//
// Statistics cannot repair a bad measurement: measure both sides alternately, on a machine that does nothing else.
package compare
