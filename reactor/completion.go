package reactor

import "github.com/reactord/reactord/sender"

// Every operation is started on its loop's thread and completes there, after Start. A task knows by this
// that it needs no atomics to await it.

// Completion implements sender.Completer.
func (AcceptSender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (AcceptManySender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (CloseSender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (ConnectSender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (NopSender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (RecvSender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (RecvLentSender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (RecvManySender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (SendSender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (SendvSender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (SleepSender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (ShutdownSender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (PollSender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (PollManySender) Completion() sender.Completion { return sender.Affine }
