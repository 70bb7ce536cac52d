//go:build !linux

// Package reactor needs Linux.
package reactor

// The compiler prints this on other systems.
var _ int = "reactord/reactor needs Linux: its rings, io_uring and epoll, are interfaces of the Linux kernel"
