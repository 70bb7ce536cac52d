// Package series describes Prometheus series as tables: one line for each number that is read from a structure.
//
// A [Table] has a [Series] for each such number. A collector passes its calls on: Describe to [Table.Describe], and
// Collect to [Table.Collect], once for each structure, with the values of its labels. A series that is not in a table
// is described by [NewDesc] and collected by [Count] or [Value]. A collector of thousands of series has a [Scrape], which
// makes the labels that they have in common once.
//
// The names of all series begin with reactord_. A scrape allocates the metrics that it sends, and keeps none of them.
package series
