// Package reactortest plays a program that uses package reactor on simulated machines.
package reactortest
