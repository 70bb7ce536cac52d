// Package seam holds the interface between package reactor and its rings to the width that reactor needs. Its tests
// collect the entries that reactor submits, from its source, and compare them with what package uring encodes, with
// what package epoll and the simulated kernel interpret, and with what the oracle of the encoders compares.
//
// An entry that one of them lacks fails, and so does one that no operation submits.
package seam
