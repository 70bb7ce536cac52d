// Package config is the daemon's configuration: its model, its YAML form and its rules.
//
// # How to use it
//
// [Load] and [Parse] read a file. The command line builds a [Config] by itself from [New], [NewListener], [NewBackend]
// and [NewServer], and calls [Config.Validate]. [Print] writes a Config with the source of each value, and [Schema] the
// JSON Schema of files. [Address], [Size], [FileMode] and [IP] are the types of settings for which there is no type in
// the standard library that reads them.
//
// # What it guarantees
//
// Parse and Load return a Config that obeys every rule, or an error that joins one [*Error] for each thing that is
// wrong, in the order of the file, each with its line and column. The reading is strict: an unknown or repeated key, a
// value of the wrong type, and a name that does not exist are errors. Otherwise the mistake would be found when the
// setting is needed. What Print writes is read as the same Config.
//
// The file is YAML 1.2 without anchors, aliases and tags. A value may have variables of the environment. Time and
// memory grow with the size of the file.
//
// Nothing here asks the system for anything but the file and its environment. The form of a host name is checked; the
// daemon looks names up when it starts, and when it checks a file. A [Source] reports the problems that the daemon
// finds then, with their places in the file.
//
// # How a setting is added
//
// A setting is a field of a struct with a comment, in one of the six files of settings, its default in the New…
// function, and its bounds in rules.go. Reading, printing, the schema and docs/configuration.md follow from these. A
// test wants it in example.yaml.
//
// # Files
//
//	config.go, listener.go, backend.go, tls.go, accesslog.go, xds.go  the settings, their documentation and defaults
//	rules.go, forms.go what a single value must be; forms of text
//	contradictions.go  what several settings must be together
//	validate.go        applies rules
//	shape.go           the settings as reflection sees them: keys, types, rules
//	parse.go           from a file to a Config
//	tokens.go          the parser of package goccy/go-yaml in linear time
//	decode.go, scalars.go, expand.go, suggest.go  from nodes of YAML to values
//	place.go, report.go where settings are in the file; errors with their places
//	print.go, json.go  from settings to YAML and JSON
//	schema.go, documentation.go, reference.go  what is made from the settings for people and editors
//	address.go, size.go, types.go  types of settings
//
// # Threads
//
// A Config belongs to its caller. A Source is immutable. Every function may be called from any goroutine.
package config
