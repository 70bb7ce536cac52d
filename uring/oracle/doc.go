// Package oracle compares the entry encoders of package uring with those of
// github.com/pawelgaczynski/giouring, byte by byte, with random arguments.
//
// It is a module of its own because giouring does not link since Go 1.23: it refers to syscall.munmap,
// which the linker refuses. The tests are linked without that check:
//
//	go test -ldflags=-checklinkname=0 ./...
//
// What is compared, and what is not:
//
//   - giouring leaves some fields of an entry as it finds them, so it is given a zeroed one; uring is
//     given one full of random bytes, because its encoders overwrite an entry whole.
//   - Where an encoder of giouring takes a slice, it encodes the address of the slice header. Those
//     encoders are not compared, and the table names them.
//   - giouring transcribes liburing 2.5. Newer encoders have no counterpart there, and the table names
//     them.
//
// An encoder of uring without a row in the table fails the test.
package oracle
