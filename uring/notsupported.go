//go:build linux

package uring

import (
	"errors"
	"fmt"
)

// ErrNotSupported is matched (errors.Is) by the error of an operation that its ring cannot do. That error matches
// errors.ErrUnsupported as well.
var ErrNotSupported = errors.New("not supported")

// NotSupportedError names an opcode that a ring does not take.
type NotSupportedError struct {
	Op   Op
	Ring string // the kind of ring: see [Caps].Ring
}

func (e *NotSupportedError) Error() string {
	return fmt.Sprintf("%s is not supported by this %s ring", e.Op, e.Ring)
}

// Is reports whether target is [ErrNotSupported] or errors.ErrUnsupported.
func (e *NotSupportedError) Is(target error) bool {
	return target == ErrNotSupported || target == errors.ErrUnsupported
}
