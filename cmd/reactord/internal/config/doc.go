// Package config is the daemon's configuration: its model, its YAML form and its rules.
//
// # Contract
//
// Parse and Load turn a file into a Config that has passed every rule, or into an error that joins
// one *Error for each thing that is wrong, in the order of the file, each with its line and column.
// The reading is strict: an unknown or repeated key, a value of the wrong type and a name that leads
// nowhere are errors, because a setting that is silently ignored is found out when it is needed.
//
// The command line builds the same Config and puts it through the same Validate.
//
// The file is YAML 1.2 without anchors, aliases and tags: what is written is what is meant.
//
// Nothing here asks the system for anything but the file. Host names are checked for their form; the
// daemon looks them up when it starts, and when it checks a file, and a Source puts what it finds wrong in its place.
package config
