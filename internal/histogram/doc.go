// Package histogram divides durations into cells.
//
// A classic histogram of Prometheus has a few round bounds, such as 5 ms. A native one has bounds at powers of two and
// at fixed fractions between them. The bounds of [Cells] are both, so that what is counted once, in the one cell that
// it belongs to, is exact in either form. Package series makes the two forms of the counts.
//
// The counters of the cells are the caller's: a plain array for a single thread, atomic ones for several. Cells never
// change, so any thread may use them.
package histogram
