// Package prometheus tests the rules and the example of a scrape configuration that are beside it, with promtool and
// against the runbook. It has no code that is used.
package prometheus
