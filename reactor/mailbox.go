package reactor

import "github.com/reactord/reactord/sender"

// Mailbox is where a loop gets values of one type from other threads. Init it once; it may be posted to from
// any thread.
type Mailbox[T any] struct {
	l *Loop
	h LetterHandler[T]
}

// LetterHandler is whose mailbox it is.
type LetterHandler[T any] interface {
	// OnLetter is called on the mailbox's loop. m is the handler's from there on, who may post it again,
	// also back to where it came from.
	OnLetter(m *Letter[T])
}

// Letter carries a value to a mailbox. It is the sender's storage, usually part of what it is about: from
// Post until it is delivered or returned it belongs to the mailbox, and is neither read nor written. The zero
// Letter is ready.
type Letter[T any] struct {
	Value T
	// Sender, if not nil, is told when the letter cannot be delivered. Set it before Post.
	Sender LetterSender[T]

	work sender.Work
	box  *Mailbox[T]
}

// LetterSender is whom a letter goes back to that could not be delivered.
type LetterSender[T any] interface {
	// OnReturn is called, once, instead of OnLetter when the mailbox's loop has ended: inside Post, or on
	// the thread of a loop that failed.
	OnReturn(m *Letter[T])
}

// Init makes it a mailbox of l, whose letters h gets.
func (b *Mailbox[T]) Init(l *Loop, h LetterHandler[T]) { b.l, b.h = l, h }

// Post leaves m in the mailbox. From any thread. Letters of one thread are delivered in the order in which it
// posted them, also if they go to different mailboxes of one loop. It allocates nothing, takes no lock, and makes
// a system call only if the loop sleeps.
func (b *Mailbox[T]) Post(m *Letter[T]) {
	m.box = b
	m.work.Runner = (*delivery[T])(m)
	b.l.Enqueue(&m.work)
}

// delivery is a Letter as work for the loop.
type delivery[T any] Letter[T]

func (d *delivery[T]) Run() { d.box.h.OnLetter((*Letter[T])(d)) }

func (d *delivery[T]) Abandon(error) {
	if d.Sender != nil {
		d.Sender.OnReturn((*Letter[T])(d))
	}
}
