package ads

import "time"

// Limits of what a server controls.
const (
	MaxName    = 2048 // bytes of a resource's name
	MaxVersion = 1024 // bytes of a resource's version
	MaxNonce   = 4096 // bytes of a nonce
	MaxText    = 4096 // bytes of the text of a NACK
	maxReason  = 1024 // bytes that one resource adds to it

	DefaultMaxResources = 1 << 16 // of a type: held, wanted, or remembered as refused

	// maxWaiting limits the unsent answers of a type. A server that waits for answers causes one.
	maxWaiting = 64

	// maxRequest is the approximate limit on names and versions of a request in bytes. Servers of gRPC accept 4 MiB
	// by default.
	maxRequest = 3 << 20
)

// Spacing of NACKs of a type, see nack.go.
const (
	nackSpace    = 100 * time.Millisecond // after a response that brought something new
	nackSpaceMin = time.Second            // after one that brought nothing new; doubles with each further one
	nackSpaceMax = 16 * time.Second
	maxHeldBack  = 8 // NACKs of a type that are held back; one more sends all of them
)

// DefaultSettle is the default of Config.Settle.
const DefaultSettle = 5 * time.Second
