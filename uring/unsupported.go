//go:build !linux

// Package uring needs Linux.
package uring

// The compiler prints this on other systems.
var _ int = "reactord/uring needs Linux: io_uring is an interface of the Linux kernel"
