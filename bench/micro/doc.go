// Package micro has benchmarks of hot paths that cross packages, and a test that these paths do not allocate. It has
// tests only.
//
// The hot paths of a single package are measured and tested in that package:
//
//	hot path                      benchmarks                        test that nothing is allocated
//	timers in the heap            timerqueue: PushRemove, Update, … timerqueue: NoAllocationInSteadyState
//	sender algorithms             sender: Then3Start, WhenAny, …    sender: NothingAllocates
//	stop callbacks                sender/stop                       sender/stop: SizesAndAllocations
//	run loops, thread pools       sender/sched                      sender/sched: NothingAllocates
//	sequences                     sender/seq                        sender/seq: NothingAllocates
//	coroutines                    sender/task                       sender/task: AwaitingInALoop…
//	entries and completions       uring: Nop; epoll: PingPong       uring, epoll: their allocation tests
//	operations, cancelling,       reactor: Nop, CancelRecv, Echo,   reactor: NothingIsAllocated, for every
//	leases, slots, posts,         CancelSleep, PostBusy, WakeIdle,  operation there is
//	timers of the loop            UDPEcho, FileRead
//
// This package measures what a server combines: algorithms of package sender over operations of a loop, on each
// ring. The file path_test.go has their list. A round of a path is what a connection does for one message. Figures
// are for one round, with all sides on one loop, unless the name says otherwise.
//
// Measure before and after a change, on a machine that does nothing else:
//
//	go test ./bench/micro ./reactor ./sender/... ./timerqueue ./uring ./epoll \
//		-run '^$' -bench . -benchmem -count 10 >new.txt
//	benchstat old.txt new.txt
//
// Allocations fail the test. Times do not; compare them with benchstat.
package micro
