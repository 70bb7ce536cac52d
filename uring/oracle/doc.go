// Package oracle holds the entry encoders of package uring against those of
// github.com/pawelgaczynski/giouring, byte by byte, over random arguments.
//
// It is a module of its own because giouring does not link since Go 1.23: it pulls syscall.munmap,
// which the linker refuses. Only a test binary that is told not to look can hold it:
//
//	go test -ldflags=-checklinkname=0 ./...
//
// What is compared, and what is not:
//
//   - giouring leaves some fields of an entry as it finds them, so it is given a zeroed one; uring is
//     given one full of garbage, as its encoders overwrite an entry whole.
//   - Where an encoder of giouring takes a slice, it encodes the address of the slice header. Those
//     encoders are no oracle, and the table names them.
//   - giouring transcribes liburing 2.5. What is younger has no oracle here, and the table names it.
//
// An encoder that uring gains without a row in the table fails the test.
package oracle
