// Package seam holds the interface between package reactor and its rings to the width that reactor needs. Its tests
// collect the entries that reactor submits, from its source, and compare them with what package uring encodes, with
// what package epoll and the simulated kernel interpret, and with what the oracle of the encoders compares.
//
// A test fails if one of them lacks an entry, or if no operation submits an entry that one of them has.
package seam
