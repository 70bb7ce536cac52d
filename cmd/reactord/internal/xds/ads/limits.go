package ads

import "time"

// The bounds of what a server controls.
const (
	MaxName    = 2048 // bytes of a resource's name
	MaxVersion = 1024 // bytes of a resource's version
	MaxNonce   = 4096 // bytes of a nonce
	MaxText    = 4096 // bytes of the text of a NACK
	maxReason  = 1024 // bytes of what one resource adds to it

	DefaultMaxResources = 1 << 16 // of a type: held, wanted, or remembered as refused

	// maxWaiting is how many answers of a type may wait to be sent. A server that waits for answers causes one.
	maxWaiting = 64

	// maxRequest is about how many bytes of names and versions a request has. Servers of gRPC take 4 MiB by default.
	maxRequest = 3 << 20
)

// How NACKs of a type are spaced out, see nack.go.
const (
	nackSpace    = 100 * time.Millisecond // after a response that brought something new
	nackSpaceMin = time.Second            // after one that brought nothing new, and twice that after the next
	nackSpaceMax = 16 * time.Second
	maxHeldBack  = 8 // NACKs of a type that are held back; with one more, all are sent
)

// DefaultSettle is how long after its first response on a stream a server may take to send all that it has.
const DefaultSettle = 5 * time.Second
