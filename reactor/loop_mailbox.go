//go:build linux

package reactor

import "github.com/reactord/reactord/sender"

// Mailbox receives messages for a loop from other threads, with values of one type. Call [Mailbox.Init] once; then any
// thread may post to it.
type Mailbox[T any] struct {
	l *Loop
	h MailboxHandler[T]
}

// MailboxHandler is the owner of a [Mailbox].
type MailboxHandler[T any] interface {
	// OnMessage is called on the mailbox's loop. From then on the handler owns m: it may post it again, also back to
	// the thread that it came from.
	OnMessage(m *Envelope[T])
}

// Envelope carries a value to a [Mailbox]. It is memory of the program, usually a field of the structure that the
// message is about. From Post until it is delivered or returned it belongs to the mailbox, and the program must not
// access it. The zero Envelope is ready.
type Envelope[T any] struct {
	Value T
	// ReturnTo, if not nil, gets the message back if it cannot be delivered. Set it before Post.
	ReturnTo UndeliverableHandler[T]

	work sender.Work
	box  *Mailbox[T] // from Post until it is delivered or returned; nil otherwise
}

// UndeliverableHandler gets messages back that could not be delivered.
type UndeliverableHandler[T any] interface {
	// OnUndeliverable is called once, instead of OnMessage, if the mailbox's loop has ended. It is called inside Post,
	// or on the thread of a loop that has failed.
	OnUndeliverable(m *Envelope[T])
}

// Init makes b a mailbox of l, whose messages go to h.
func (b *Mailbox[T]) Init(l *Loop, h MailboxHandler[T]) {
	if l == nil || h == nil {
		panic("reactor: Init of a Mailbox without a Loop or a handler: give it both")
	}
	b.l, b.h = l, h
}

// Post sends m to the mailbox. From any thread. The messages of one thread are delivered in the order in which it has
// posted them, also if they go to different mailboxes of one loop. Post allocates nothing, takes no lock, and makes a
// system call only if the loop sleeps.
func (b *Mailbox[T]) Post(m *Envelope[T]) {
	if b.l == nil {
		panic("reactor: Post to a Mailbox that is not ready: call Init first")
	}
	if m.box != nil {
		panic("reactor: Post of an Envelope that was not delivered yet: use one for each message in flight, or post it " +
			"again from OnMessage")
	}
	m.box = b
	m.work.Runner = (*delivery[T])(m)
	b.l.Enqueue(&m.work)
}

// delivery is an Envelope as work for the loop.
type delivery[T any] Envelope[T]

func (d *delivery[T]) Run() {
	to := d.box
	d.box = nil
	to.h.OnMessage((*Envelope[T])(d))
}

func (d *delivery[T]) Abandon(error) {
	d.box = nil
	if d.ReturnTo != nil {
		d.ReturnTo.OnUndeliverable((*Envelope[T])(d))
	}
}
