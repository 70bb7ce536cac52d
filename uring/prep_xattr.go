package uring

import "unsafe"

// Names and paths are zero-terminated strings; they, and a value that is set, stay where they are until the
// entry is submitted. See xattr(7).

// PrepFgetxattr stores the value of the extended attribute name of fd in the n bytes at value. The result is
// its length; with n = 0 it is only that. See fgetxattr(2).
func (s *SQE) PrepFgetxattr(fd int, name, value unsafe.Pointer, n uint32) {
	*s = SQE{Opcode: OpFgetxattr, Fd: int32(fd), Addr: addr(name), Off: addr(value), Len: n}
}

// PrepFsetxattr sets the extended attribute name of fd to the n bytes at value. See fsetxattr(2).
func (s *SQE) PrepFsetxattr(fd int, name, value unsafe.Pointer, n, flags uint32) {
	*s = SQE{Opcode: OpFsetxattr, Fd: int32(fd), Addr: addr(name), Off: addr(value), Len: n, OpFlags: flags}
}

// PrepGetxattr is PrepFgetxattr of the file at a path. See getxattr(2).
func (s *SQE) PrepGetxattr(path, name, value unsafe.Pointer, n uint32) {
	*s = SQE{Opcode: OpGetxattr, Addr: addr(name), Off: addr(value), Len: n, Addr3: addr(path)}
}

// PrepSetxattr is PrepFsetxattr of the file at a path. See setxattr(2).
func (s *SQE) PrepSetxattr(path, name, value unsafe.Pointer, n, flags uint32) {
	*s = SQE{Opcode: OpSetxattr, Addr: addr(name), Off: addr(value), Len: n, OpFlags: flags, Addr3: addr(path)}
}
