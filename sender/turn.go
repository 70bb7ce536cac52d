package sender

import (
	"sync"
	"sync/atomic"

	"github.com/reactord/reactord/internal/assert"
)

// turn is what the frame that starts a round and the round's completion agree by: who begins the
// next round, and whether there is one. It is not part of the operation state, because the frame has
// to look at it when the operation may long be over and its storage be somebody else's.
type turn struct{ state atomic.Uint32 }

const (
	starting = iota // the frame is inside the child's Start
	left            // it has left before the round was complete
	handed          // the round is complete, and the frame begins the next
	ended           // the round was the last
)

// turns allocates nothing in the long run.
var turns = sync.Pool{New: func() any { return new(turn) }}

// rounds is the part of an operation that plays rounds, of one child after the other.
type rounds struct{ turn *turn } // nil when idle

// start is called by Start. The turn's end puts it back.
func (x *rounds) start() {
	if assert.Enabled && x.turn != nil {
		panic("sender: Start of an operation that is in flight")
	}
	x.turn = turns.Get().(*turn)
}

// end makes the operation idle. The receiver is to be called after it.
func (x *rounds) end() {
	t := x.turn
	x.turn = nil
	t.end()
}

// begin is called by the frame before each round.
func (t *turn) begin() { t.state.Store(starting) }

// again is asked by the frame when the child's Start has returned: is the next round to be begun by it?
func (t *turn) again() bool {
	step()
	if t.state.CompareAndSwap(starting, left) {
		return false
	}
	step()
	if t.state.Load() == handed {
		return true
	}
	turns.Put(t)
	return false
}

// hand is asked by a round's completion: will the frame that started it begin the next?
func (t *turn) hand() bool {
	step()
	return t.state.CompareAndSwap(starting, handed)
}

// end says that the round was the last. Whoever of the two is later puts t back.
func (t *turn) end() {
	step()
	if !t.state.CompareAndSwap(starting, ended) {
		turns.Put(t)
	}
}
