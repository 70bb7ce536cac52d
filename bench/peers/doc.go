// Command peers has the echo servers of three other libraries, for `bench suite` to measure beside the
// reactor: gnet v2.9.7, netpoll v0.7.2 and nbio v1.6.7. It is a module of its own, so that their
// dependencies are nobody else's.
//
//	go build -tags poll_opt,gc_opt -o peers .
//	peers gnet echo --listen tcp://127.0.0.1:7000 --loops 1
//	peers gnet version
//
// Each server is written as a user of the library would who wants the most of it: after the library's own
// documentation and benchmarks, with as many event loops as cores are given (--loops), and TCP_NODELAY,
// which all three set unasked. What it sends, it sends out of the memory that the library read into.
//
//	gnet     Built with the tags poll_opt (an epoll loop that finds its connection by pointer instead of in
//	         a map; gnet's benchmarks are built so) and gc_opt (connections in a matrix). SO_REUSEPORT: each
//	         loop accepts its own connections; otherwise a loop more would accept and hand them over.
//	         Level-triggered, loops not locked to their threads: neither of the two measured better on one
//	         core.
//	netpoll  Its handlers block, so each request runs on a goroutine, of its pool, which is the default.
//	         Goroutines without the pool (DisableGopool, which its guide recommends where stacks do not
//	         grow) measured up to 4 % worse. Handlers on the poller itself are no choice: Flush waits there
//	         for the poller.
//	nbio     The defaults: level-triggered, read and handled on the poller's goroutine. Edge-triggered
//	         measured the same.
//
// There is no proxy. On gnet and netpoll one cannot stop reading from one side while the other is slow, and
// nbio leaves that to a loop of the user's own, so that a proxy keeps in memory whatever is ahead: beside
// proxies that bound it, that is another thing.
package main
