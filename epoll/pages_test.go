//go:build linux

package epoll

import (
	"testing"
	"unsafe"
)

// TestSizes bounds what an idle connection costs: a file and an entry.
func TestSizes(t *testing.T) {
	if n := unsafe.Sizeof(file{}); n != 32 {
		t.Errorf("a file is of %d bytes", n)
	}
	if n := unsafe.Sizeof(entry{}); n != 80 {
		t.Errorf("an entry is of %d bytes", n)
	}
}
