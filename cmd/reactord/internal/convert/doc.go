// Package convert makes a configuration of reactord from one of HAProxy or nginx.
//
// # How to use it
//
// [Convert] reads a file. The [Result] has the configuration, and a [Report] with what became of each line: a setting,
// a setting that behaves differently, nothing because nothing is needed, or nothing because it cannot be said.
// [Result.WriteYAML] writes the configuration.
//
// # What it guarantees
//
// Each line of a section that is converted is in the report, with its place, and so is each word of it that is not
// converted; a section or block that is left out as a whole is one entry. Every problem that config finds in the result
// is an entry of the kind [Supply]. The text is not trusted: it makes neither a panic nor an endless loop.
//
// HAProxy's defaults that differ from those of reactord are written out, so that connections are balanced, checked and
// ended as before. What differs nevertheless is in docs/coming-from.md.
//
// # Files
//
//	convert.go          Convert, Result, detection of the kind
//	report.go           Report
//	names.go            names of listeners and backends
//	prefixes.go         lists of networks
//	pattern.go          server names of a regular expression
//	routes.go           conditions of routes, and routes from them
//	haproxy_words.go    the words of a line: quotes, escapes, variables
//	haproxy_if.go       .if, .elif, .else, .endif
//	haproxy_sections.go sections, and what they inherit
//	haproxy.go          from sections to a configuration
//	haproxy_*.go        words of a section
//	nginx_tokens.go     directives and blocks of nginx
//	nginx.go            from the stream block to a configuration
//	nginx_*.go          words of a block
package convert
