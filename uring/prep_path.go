//go:build linux

package uring

import "unsafe"

// A path is a zero-terminated string that must not move until the entry is submitted. It is relative to the directory
// dir, or to the current directory if that is unix.AT_FDCWD.

// PrepOpenat opens a file. The result is its descriptor. See openat(2).
func (s *SQE) PrepOpenat(dir int, path unsafe.Pointer, flags, mode uint32) {
	*s = SQE{Opcode: OpOpenat, Fd: int32(dir), Addr: addr(path), Len: mode, OpFlags: flags}
}

// PrepStatx stores the attributes of a file in the struct statx at out. See statx(2).
func (s *SQE) PrepStatx(dir int, path unsafe.Pointer, flags, mask uint32, out unsafe.Pointer) {
	*s = SQE{Opcode: OpStatx, Fd: int32(dir), Addr: addr(path), Len: mask, Off: addr(out), OpFlags: flags}
}

// PrepRenameat gives a file another name. See renameat2(2).
func (s *SQE) PrepRenameat(oldDir int, oldPath unsafe.Pointer, newDir int, newPath unsafe.Pointer, flags uint32) {
	*s = SQE{
		Opcode: OpRenameat, Fd: int32(oldDir), Addr: addr(oldPath), Len: uint32(newDir), Off: addr(newPath),
		OpFlags: flags,
	}
}

// PrepUnlinkat removes a name; with unix.AT_REMOVEDIR it removes a directory. See unlinkat(2).
func (s *SQE) PrepUnlinkat(dir int, path unsafe.Pointer, flags uint32) {
	*s = SQE{Opcode: OpUnlinkat, Fd: int32(dir), Addr: addr(path), OpFlags: flags}
}

// PrepMkdirat makes a directory. See mkdirat(2).
func (s *SQE) PrepMkdirat(dir int, path unsafe.Pointer, mode uint32) {
	*s = SQE{Opcode: OpMkdirat, Fd: int32(dir), Addr: addr(path), Len: mode}
}

// PrepSymlinkat makes a symbolic link to target. See symlinkat(2).
func (s *SQE) PrepSymlinkat(target unsafe.Pointer, dir int, path unsafe.Pointer) {
	*s = SQE{Opcode: OpSymlinkat, Fd: int32(dir), Addr: addr(target), Off: addr(path)}
}

// PrepLinkat gives a file one more name. See linkat(2).
func (s *SQE) PrepLinkat(oldDir int, oldPath unsafe.Pointer, newDir int, newPath unsafe.Pointer, flags uint32) {
	*s = SQE{
		Opcode: OpLinkat, Fd: int32(oldDir), Addr: addr(oldPath), Len: uint32(newDir), Off: addr(newPath),
		OpFlags: flags,
	}
}
