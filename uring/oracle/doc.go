// Package oracle tests the entry encoders of package uring against those of github.com/pawelgaczynski/giouring.
//
// Encoders that giouring does not have, or has wrong, are not compared; the tests list them. It is a separate module,
// because no program can import giouring: it does not link with Go 1.23 or later without -ldflags=-checklinkname=0.
package oracle
