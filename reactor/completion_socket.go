package reactor

import "github.com/reactord/reactord/sender"

// Completion implements sender.Completer.
func (RecvMsgSender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (RecvFromLentSender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (RecvMsgManySender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (RecvFDsSender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (SendToSender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (SendMsgSender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (SendFDsSender) Completion() sender.Completion { return sender.Affine }

// Completion implements sender.Completer.
func (SendZCSender) Completion() sender.Completion { return sender.Affine }
