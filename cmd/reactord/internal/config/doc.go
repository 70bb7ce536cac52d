// Package config holds the daemon's configuration: its model, its YAML form and its rules.
//
// # How to use it
//
// [Load] and [Parse] read a file, with those that it includes. The command line builds a [Config] from [New],
// [NewListener], [NewBackend] and [NewServer], and calls [Config.Validate]. [Print] writes a Config with the source of
// each value, and [Schema] the JSON Schema of files. [Address], [Size], [FileMode] and [IP] are setting types that the
// standard library has no text form for.
//
// # What it guarantees
//
// Parse and Load return a Config that obeys every rule, or an error that joins one [*Error] for each mistake, in the
// order of the file, with line and column. Reading is strict: an unknown or repeated key, a value of the wrong type,
// and a name that does not exist are errors; otherwise the mistake would surface when the setting is needed. What
// Print writes is read back as the same Config.
//
// The file is YAML 1.2 without anchors, aliases and tags. Values may contain environment variables. Time and memory
// are linear in the size of the file.
//
// The package reads the files and the environment, and nothing else. It checks the form of host names; the daemon
// resolves them when it starts, and when it checks a file. [Places] then reports problems with their places in the
// file.
//
// # Adding a setting
//
// A setting is a field with a comment in one of the files of settings, its default in the New… function, and its
// bounds in rules.go. Reading, printing, the schema and docs/configuration.md follow from these. A test demands an
// entry in example.yaml. Package discovery says how a kind of source is added.
//
// # Files
//
//	config.go, listener.go, backend.go, discovery.go  the settings, their documentation and defaults
//	servercheck.go, tls.go, accesslog.go, xds.go, sets.go, defaults.go  likewise
//	words.go                  the types of settings with a fixed set of values
//	policy.go                 the algorithms of load balancing: a row for each
//	rules.go, forms.go        what a single value must be; forms of text
//	contradictions*.go        what several settings must be together
//	listening.go, routes.go   the same of listeners and of routes
//	unusual.go                what is valid, and probably not meant
//	production.go             what is valid, and dangerous in production
//	validate.go               applies rules
//	shape.go, key.go          the settings as reflection sees them: keys, types, rules
//	parse.go                  from a file to a Config
//	include.go                files that a file includes
//	inherit.go                what entries inherit from sets of defaults
//	tokens.go                 the parser of package goccy/go-yaml in linear time
//	decode.go, scalars.go, expand.go  from nodes of YAML to values
//	suggest.go, foreign.go    what a misspelt word means, or a word of another proxy
//	place.go, report.go       where settings are in the file; errors with their places
//	print.go, print_brief.go, json.go  from settings to YAML, all of them or the unusual ones, and to JSON
//	schema.go, documentation.go, reference.go  for people and editors, generated from the settings
//	address.go, size.go, types.go, ciphers.go, sans.go  types and values of settings
//
// # Threads
//
// A Config belongs to its caller. Places are immutable. Every function may be called from any goroutine.
package config
