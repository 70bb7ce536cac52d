package proxy

import "github.com/reactord/reactord/cmd/reactord/internal/plan"

// ListenSocket is a socket that a listener accepts from.
type ListenSocket struct {
	Key plan.ListenerKey
	FD  int
}
