// Package plan is what the proxy is told to do, as one immutable value: listeners, and backends with their servers.
//
// Several sources contribute to a [Plan]: the file, discovery, and the overrides of the admin API. One planner merges
// what they say, checks the whole, and carries out the difference to the plan in force in three steps. Prepare may fail,
// and then nothing has changed. Commit cannot fail. Retire drains what is gone.
package plan
