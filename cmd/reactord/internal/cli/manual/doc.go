// Package manual writes the manual pages of the program: one for its command line, from kong's model of it, and one for
// its configuration file, from the documentation of the settings.
//
// The pages use the macros of man(7), which groff and mandoc know.
//
// # Files
//
//	commands.go  reactord(1)
//	settings.go  reactord.yaml(5)
//	roff.go      text for roff
package manual
