// Package micro has the benchmarks of hot paths that cross packages, and the test that they allocate
// nothing. It has no code but tests.
//
// What one package does by itself is measured and held there:
//
//	hot path                      benchmarks                        held to no allocation by
//	timers in the heap            timerqueue: PushRemove, Update, … timerqueue: NoAllocationInSteadyState
//	sender algorithms             sender: Then3Start, WhenAny, …    sender: NothingAllocates
//	stop callbacks                sender/stop                       sender/stop: SizesAndAllocations
//	run loops, thread pools       sender/sched                      sender/sched: NothingAllocates
//	sequences                     sender/seq                        sender/seq: NothingAllocates
//	coroutines                    sender/task                       sender/task: AwaitingInALoop…
//	entries and completions       uring: Nop; epoll: PingPong       uring, epoll: their allocation tests
//	operations, cancelling,       reactor: Nop, CancelRecv, Echo,   reactor: NothingIsAllocated, for every
//	lent buffers, slots, posts,   CancelSleep, PostBusy, WakeIdle,  operation there is
//	timers of the loop            UDPEcho, FileRead
//
// Here is what a server makes of these: algorithms of package sender over operations of a loop (path_test.go
// names them), on each ring. A round of a path is what a connection does for one message, and a figure is
// of one round, all sides of it on one loop but where the name says otherwise.
//
// Before and after a change, on a machine that does nothing else:
//
//	go test ./bench/micro ./reactor ./sender/... ./timerqueue ./uring ./epoll \
//		-run '^$' -bench . -benchmem -count 10 >new.txt
//	benchstat old.txt new.txt
//
// Allocations fail the test; times are for people to compare.
package micro
