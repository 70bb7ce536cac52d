// Package series describes Prometheus series as tables: one line for each number that is read from a structure.
//
// A [Table] has a [Series] for each such number; a series that is not in a table has a [Desc] of its own. A collector
// is a function that sends the series of a reading to a [Scrape], from their [Owner]: see [NewCollector]. It is a
// [prometheus.Collector] for any registry. A [Gatherer] collects the same series in less time, and reuses the memory of
// earlier scrapes: a series allocates nothing. It also renders them as text, which needs no metric in memory.
//
// A series that is sparse is left out of a scrape with a [Ledger] until it has moved.
//
// The names of all series begin with reactord_.
package series
