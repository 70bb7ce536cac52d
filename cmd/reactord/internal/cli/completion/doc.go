// Package completion writes scripts that complete a command line in bash, zsh and fish.
//
// The scripts are made from kong's model of the command line, so that they have each command and flag, and are complete
// in themselves: to complete, the shell does not start the program. The libraries for kong that do this start the
// program at each key, or are no longer maintained.
//
// # Files
//
//	command.go  what a script needs of the model
//	bash.go     a script for each shell
//	zsh.go
//	fish.go
package completion
