// Package pool keeps objects that are not in use, so that taking one allocates nothing. Unlike those of a sync.Pool,
// they stay across garbage collections. The last one put back is the first one taken, because it is in the cache.
//
// Nothing here is synchronised: each loop has pools of its own.
package pool
