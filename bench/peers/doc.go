// Command peers has servers on three other libraries: gnet v2.9.7, netpoll v0.7.2 and nbio v1.6.7. `bench suite`
// measures them and compares them with reactord. The command is a separate module, so that its dependencies stay out of
// the module of reactord.
//
//	go build -tags poll_opt,gc_opt -o peers .
//	peers gnet echo --listen tcp://127.0.0.1:7000 --loops 1
//	peers gnet redis --listen tcp://127.0.0.1:6379 --loops 1
//	peers gnet version
//
// gnet also has a RESP server (redis), with the parser and the store of bench/resp.
//
// Each server is written for the best performance of its library, after the library's own documentation and
// benchmarks. It has one event loop for each core (--loops), and TCP_NODELAY, which all three libraries set by
// default. It sends from the memory that the library received into.
//
//	gnet     Built with the tags poll_opt (an epoll loop that finds its connection by pointer instead of in
//	         a map; gnet's benchmarks are built so) and gc_opt (connections in a matrix). SO_REUSEPORT: each
//	         loop accepts its own connections; otherwise an additional loop accepts and distributes
//	         them. Edge-triggered events and locked threads did not measure better on one core.
//	netpoll  Its handlers block, so each request runs on a goroutine of its pool, which is the default.
//	         Goroutines without the pool (DisableGopool, which its guide recommends if stacks do not
//	         grow) measured up to 4 % worse. Handlers cannot run on the poller itself, because Flush
//	         waits for the poller.
//	nbio     The defaults: level-triggered, read and handled on the poller's goroutine. Edge-triggered
//	         measured the same.
//
// There is no proxy. With gnet and netpoll a program cannot stop reading from one side while the other side is
// slow, and with nbio it would need its own event loop for that. Such a proxy has no bound on its memory, so it
// cannot be compared with proxies that have one.
package main
