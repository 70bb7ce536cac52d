//go:build !linux

// Package epoll needs Linux.
package epoll

// The compiler prints this on other systems.
var _ int = "reactord/epoll needs Linux: epoll(7) is an interface of the Linux kernel"
