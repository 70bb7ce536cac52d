package conformance

import (
	"maps"
	"net"
	"slices"

	"golang.org/x/sys/unix"
)

// row is an operation, and what must come of it in each situation.
type row struct {
	name    string
	waits   bool // it can be made to wait
	subject func(s *stage, blocked bool) *subject
	cells   cells
}

type cells map[string]expectation

// with returns c with other cells added or replaced.
func (c cells) with(other cells) cells {
	c = maps.Clone(c)
	maps.Copy(c, other)
	return c
}

// whole returns c for an operation that completes when all is moved.
func (c cells) whole() cells {
	c = maps.Clone(c)
	for name, e := range c {
		c[name] = e.each(func(e completion) completion {
			e.moved = false
			return e
		})
	}
	return c
}

// waiting are the cells of operations that wait for something on a socket.
var waiting = cells{
	alreadyStopped:         stopped,
	stoppedWhileQueued:     stopped,
	stoppedElsewhereQueued: stopped,
	stoppedInFlight:        stopped,
	stoppedElsewhere:       stopped,
	stoppedTwice:           stopped,
	closedBefore:           fails(net.ErrClosed),
	closedWhileQueued:      fails(net.ErrClosed),
	closedUnder:            fails(net.ErrClosed),
	loopStopped:            stopped,
	loopStopping:           stopped,
}

var (
	inNoTime = never("it waits for nothing")
	noSocket = never("it is about no socket")
)

// instant are the cells of operations that wait for nothing.
var instant = cells{
	alreadyStopped:         stopped,
	successLater:           inNoTime,
	stoppedWhileQueued:     value(0),
	stoppedElsewhereQueued: value(0),
	stoppedInFlight:        inNoTime,
	stoppedElsewhere:       inNoTime,
	stoppedAfterCompletion: value(0),
	stoppedTwice:           inNoTime,
	stoppedFromCallback:    value(0),
	resetMeanwhile:         inNoTime,
	closedUnder:            inNoTime,
	loopStopped:            inNoTime,
	loopStopping:           stopped,
}

// socketless are the cells of operations without a socket.
var socketless = cells{
	endOfFile:          noSocket,
	resetBefore:        noSocket,
	resetMeanwhile:     noSocket,
	closedBefore:       noSocket,
	closedWhileQueued:  noSocket,
	closedUnder:        noSocket,
	closedFromCallback: noSocket,
}

// receiving are the cells of receives of one piece.
var receiving = waiting.with(cells{
	successImmediately:     moves(len(hello)),
	successLater:           moves(len(hello)),
	endOfFile:              value(0),
	resetBefore:            fails(unix.ECONNRESET),
	resetMeanwhile:         fails(unix.ECONNRESET),
	stoppedAfterCompletion: moves(len(hello)),
	stoppedFromCallback:    moves(len(hello)),
	reused:                 moves(len(hello)).then(moves(len(hello))),
	closedFromCallback:     moves(len(hello)),
})

var accepting = waiting.with(cells{
	successImmediately:     value(1),
	successLater:           value(1),
	endOfFile:              fails(unix.EINVAL), // what accept(2) says of a listener that was shut down
	resetBefore:            value(1),           // the connection is there, and its end is to be read from it
	resetMeanwhile:         value(1),
	stoppedAfterCompletion: value(1),
	stoppedFromCallback:    value(1),
	reused:                 value(1).then(value(1)),
	closedFromCallback:     value(1),
})

// acceptingMany is the same for sequences, which do not complete by themselves.
var acceptingMany = waiting.with(cells{
	successImmediately:     stopped.after(2),
	successLater:           stopped.after(2),
	endOfFile:              fails(unix.EINVAL),
	resetBefore:            never("the connection is there: success"),
	resetMeanwhile:         never("the connection is there: success"),
	stoppedAfterCompletion: stopped.after(1),
	stoppedFromCallback:    stopped.after(1),
	reused:                 stopped.after(1).then(stopped.after(1)),
	closedFromCallback:     fails(net.ErrClosed).after(1),
})

var receivingMany = acceptingMany.with(cells{
	endOfFile:      value(0),
	resetBefore:    fails(unix.ECONNRESET),
	resetMeanwhile: fails(unix.ECONNRESET),
})

// receivingBulk is the same if one event may be several items.
var receivingBulk = receivingMany.with(cells{
	successImmediately:     stopped.after(2).orMore(),
	successLater:           stopped.after(2).orMore(),
	stoppedAfterCompletion: stopped.after(1).orMore(),
	stoppedFromCallback:    stopped.after(1).orMore(),
	reused:                 stopped.after(1).then(stopped.after(1)).orMore(),
	closedFromCallback:     fails(net.ErrClosed).after(1).orMore(),
})

var sending = waiting.with(cells{
	successImmediately:     moves(len(hello)),
	successLater:           moves(len(hello)),
	endOfFile:              never("a send does not depend on the peer's write side"),
	resetBefore:            fails(unix.ECONNRESET),
	resetMeanwhile:         fails(unix.ECONNRESET),
	stoppedAfterCompletion: moves(len(hello)),
	stoppedFromCallback:    moves(len(hello)),
	reused:                 moves(len(hello)).then(moves(len(hello))),
	closedFromCallback:     moves(len(hello)),
})

// sendingAll is sending of more than there is room for: when it is stopped, a part has been sent.
var sendingAll = sending.whole().with(cells{
	successLater:           value(len(large)),
	resetMeanwhile:         fails(unix.ECONNRESET, unix.EPIPE), // the second if some was sent before the first
	stoppedWhileQueued:     value(some),
	stoppedElsewhereQueued: value(some),
	stoppedInFlight:        value(some),
	stoppedElsewhere:       value(some),
	stoppedTwice:           value(some),
	closedWhileQueued:      value(some),
	closedUnder:            value(some),
	loopStopped:            value(some),
})

var sleeping = waiting.with(socketless).with(cells{
	successImmediately:     value(0),
	successLater:           value(0).in("an hour"),
	stoppedAfterCompletion: never("until a timer is popped it has not completed"),
	stoppedFromCallback:    value(0),
	reused:                 value(0).then(value(0)),
})

// table is the rows of all areas.
var table = slices.Concat(streams, halfClosed, datagrams, messages, locals, files, pipes, events, loops)
