package reactor

import "github.com/reactord/reactord/sender"

// affine is embedded in every sender of this package: its operation is started on its loop's thread and completes
// there, after Start. A task knows by this that it needs no atomics to await it.
type affine struct{}

// CompletionBehavior implements sender.CompletionDescriber.
func (affine) CompletionBehavior() sender.CompletionBehavior { return sender.Affine }
