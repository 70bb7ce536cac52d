// Package pool keeps unused objects, so that taking one does not allocate. Unlike those of a sync.Pool, they survive
// garbage collections. The last one put back is taken first, because it is in the cache.
//
// Nothing here is synchronised: each loop has separate pools.
package pool
