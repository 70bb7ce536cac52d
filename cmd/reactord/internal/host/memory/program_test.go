package memory

import (
	"bytes"
	"os"
	"reflect"
	"testing"
	"unsafe"
)

// residentOfFiles returns KiB.
func residentOfFiles(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte("RssFile:"))
	return number(bytes.Fields(rest)[0])
}

// touch reads each page of the program's code.
func touch(t *testing.T) (sum byte) {
	t.Helper()
	address := reflect.ValueOf(touch).Pointer()
	text := unsafe.Slice(functionByte(touch), mappingAt(t, address).end-address)
	for i := 0; i < len(text); i += os.Getpagesize() {
		sum += text[i]
	}
	return sum
}

func mappingAt(t *testing.T, address uintptr) *mapping {
	t.Helper()
	all, err := readMappings()
	if err != nil {
		t.Fatal(err)
	}
	return all.at(address)
}

// functionByte returns the first byte of the code of f.
func functionByte(f func(*testing.T) byte) *byte { return **(***byte)(unsafe.Pointer(&f)) }

func TestUnmapProgram(t *testing.T) {
	touch(t)
	before := residentOfFiles(t)
	if err := UnmapProgram(); err != nil {
		t.Fatal(err)
	}
	after := residentOfFiles(t)
	if after >= before {
		t.Errorf("%d KiB of files are resident, %d before", after, before)
	}
	touch(t) // what is unmapped can be used
}

// A breakpoint of a debugger, or a probe, is a page of the program that was changed.
func TestChangedPagesStay(t *testing.T) {
	code := functionByte(touch)
	address := uintptr(unsafe.Pointer(code))
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	defer mem.Close()
	if _, err := mem.WriteAt([]byte{*code}, int64(address)); err != nil { // the kernel copies the page
		t.Skip(err)
	}
	for range 2 { // before, and after
		if !mappingAt(t, address).changed {
			t.Fatal("the changed page is not mapped any more")
		}
		if err := UnmapProgram(); err != nil {
			t.Fatal(err)
		}
	}
}
