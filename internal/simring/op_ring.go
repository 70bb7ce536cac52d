package simring

import "github.com/reactord/reactord/uring"

// ringOperations are the operations without an open file, or only with its descriptor.
var ringOperations = map[uring.Op]operation{
	uring.OpNop:         {at: func(e *entry) { e.finish(0, 0) }},
	uring.OpClose:       {at: (*entry).close},
	uring.OpAsyncCancel: {at: (*entry).cancel},
	uring.OpWaitid:      {at: (*entry).waitid, try: (*entry).waitid},
}

func (e *entry) close() {
	e.ring.k.log("close %d", e.Fd)
	e.fail(e.ring.k.close(int(e.Fd)))
}
