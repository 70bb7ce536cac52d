// Package program has programs to be played on a simulated kernel (see simring.Play), and what it takes
// to write more: parties that talk to each other through what is tested, and judge what comes through.
package program
