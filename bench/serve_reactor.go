package main

import (
	"context"
	"errors"
)

// serveReceivers echoes on the reactor.
func (s *serveEcho) serveReceivers(ctx context.Context, address string) error {
	return errors.New("the receiver style is not built in yet")
}
