package reactor

import "github.com/reactord/reactord/sender"

// Mailbox is where a loop gets values of one type from other threads. Init it once; it may be posted to from
// any thread.
type Mailbox[T any] struct {
	l *Loop
	h MailboxHandler[T]
}

// MailboxHandler is whose mailbox it is.
type MailboxHandler[T any] interface {
	// OnMessage is called on the mailbox's loop. m is the handler's from there on, who may post it again,
	// also back to where it came from.
	OnMessage(m *Envelope[T])
}

// Envelope carries a value to a mailbox. It is the sender's storage, usually part of what it is about: from
// Post until it is delivered or returned it belongs to the mailbox, and is neither read nor written. The zero
// Envelope is ready.
type Envelope[T any] struct {
	Value T
	// ReturnTo, if not nil, is told when the message cannot be delivered. Set it before Post.
	ReturnTo UndeliverableHandler[T]

	work sender.Work
	box  *Mailbox[T]
}

// UndeliverableHandler is whom a message goes back to that could not be delivered.
type UndeliverableHandler[T any] interface {
	// OnUndeliverable is called, once, instead of OnMessage when the mailbox's loop has ended: inside Post, or on
	// the thread of a loop that failed.
	OnUndeliverable(m *Envelope[T])
}

// Init makes it a mailbox of l, whose messages h gets.
func (b *Mailbox[T]) Init(l *Loop, h MailboxHandler[T]) { b.l, b.h = l, h }

// Post leaves m in the mailbox. From any thread. Messages of one thread are delivered in the order in which it
// posted them, also if they go to different mailboxes of one loop. It allocates nothing, takes no lock, and makes
// a system call only if the loop sleeps.
func (b *Mailbox[T]) Post(m *Envelope[T]) {
	m.box = b
	m.work.Runner = (*delivery[T])(m)
	b.l.Enqueue(&m.work)
}

// delivery is an Envelope as work for the loop.
type delivery[T any] Envelope[T]

func (d *delivery[T]) Run() { d.box.h.OnMessage((*Envelope[T])(d)) }

func (d *delivery[T]) Abandon(error) {
	if d.ReturnTo != nil {
		d.ReturnTo.OnUndeliverable((*Envelope[T])(d))
	}
}
