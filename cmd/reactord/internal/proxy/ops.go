package proxy

import "github.com/reactord/reactord/uring"

// Ops are the opcodes that the loops of a proxy submit, and the only ones that their rings take: see
// [reactor.LoopConfig]. Connections are accepted by accept4(2), and spliced by splice(2).
var Ops = uring.NewOpSet(
	uring.OpPollAdd,     // listeners, and sockets that bytes are spliced between
	uring.OpConnect,     // to servers
	uring.OpRecv,        // of connections, checks and agents
	uring.OpSend,        //
	uring.OpSendmsg,     // of several buffers, and of datagrams
	uring.OpRecvmsg,     // of datagrams
	uring.OpAsyncCancel, // before a close, and at timeouts
	uring.OpClose,
	uring.OpNop,
)
