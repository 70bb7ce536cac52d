package memory

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"

	"golang.org/x/sys/unix"
)

// UnmapProgram unmaps the pages of the program's file, its code and its constants. Their next use maps them again, from
// the page cache. Of what is resident after the start, about 14 MB are not used again: starting uses little of many
// pages, and the kernel maps 64 KiB around each.
//
// A part of the file in which a page was changed stays mapped: a debugger's breakpoint or a probe of the kernel would
// be lost.
func UnmapProgram() error {
	all, err := readMappings()
	if err != nil {
		return err
	}
	program := all.at(reflect.ValueOf(UnmapProgram).Pointer())
	if program == nil {
		return errors.New("/proc/self/smaps has no mapping of the program")
	}
	for _, m := range all {
		if m.file != program.file || m.writable || m.changed {
			continue
		}
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("madvise: %w", errno)
		}
	}
	return nil
}

// mapping is a part of the address space.
type mapping struct {
	start, end uintptr
	file       string // its device and inode
	writable   bool
	changed    bool // it has pages that were copied for a write
}

type mappings []mapping

// at returns the mapping of an address, or nil.
func (all mappings) at(address uintptr) *mapping {
	i := slices.IndexFunc(all, func(m mapping) bool { return m.start <= address && address < m.end })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// readMappings reads the mappings of the process. Unlike /proc/self/pagemap, a process that has concealed its memory
// may still read /proc/self/smaps. See proc_pid_smaps(5).
func readMappings() (all mappings, err error) {
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		switch f := bytes.Fields(line); {
		case len(f) >= 5 && bytes.IndexByte(f[0], '-') > 0: // 00400000-00d83000 r-xp 00000000 fe:00 1234 /usr/bin/reactord
			m := mapping{file: string(f[3]) + " " + string(f[4]), writable: f[1][1] == 'w'}
			if _, err := fmt.Sscanf(string(f[0]), "%x-%x", &m.start, &m.end); err != nil {
				return nil, fmt.Errorf("/proc/self/smaps: %q: %w", f[0], err)
			}
			all = append(all, m)
		case len(all) != 0 && len(f) == 3 && (string(f[0]) == "Anonymous:" || string(f[0]) == "Swap:") && string(f[1]) != "0":
			all[len(all)-1].changed = true
		}
	}
	return all, nil
}
