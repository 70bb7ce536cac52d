// Package config is the daemon's configuration: its model, its YAML form and its rules.
//
// # How to use it
//
// [Load] and [Parse] read a file. The command line builds a [Config] by itself, and calls [Config.Validate]. [Address]
// and [Size] are the types of settings for which there is no type in the standard library.
//
// # What it guarantees
//
// Parse and Load return a Config that obeys every rule, or an error that joins one [*Error] for each thing that is
// wrong, in the order of the file, each with its line and column. The reading is strict: an unknown or repeated key, a
// value of the wrong type, and a name that does not exist are errors. Otherwise the mistake would be found when the
// setting is needed.
//
// The file is YAML 1.2 without anchors, aliases and tags.
//
// Nothing here asks the system for anything but the file. The form of a host name is checked; the daemon looks names up
// when it starts, and when it checks a file. A [Source] reports the problems that the daemon finds then, with their
// places in the file.
package config
