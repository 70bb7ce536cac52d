package uring

import (
	"errors"
	"fmt"
)

// ErrNotSupported is what the error of an operation matches (errors.Is) that its ring cannot do. It matches
// errors.ErrUnsupported as well.
var ErrNotSupported = errors.New("not supported")

// NotSupportedError names what a ring cannot do.
type NotSupportedError struct {
	Op   Op     // the opcode
	Ring string // the kind of ring: see Caps.Kind
}

func (e *NotSupportedError) Error() string {
	return fmt.Sprintf("%s is not supported by this %s ring", e.Op, e.Ring)
}

// Is reports whether target is ErrNotSupported or errors.ErrUnsupported.
func (e *NotSupportedError) Is(target error) bool {
	return target == ErrNotSupported || target == errors.ErrUnsupported
}
