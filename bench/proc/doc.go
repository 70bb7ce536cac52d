// Package proc starts the processes that a measurement needs, each on its own CPU ([Start], [Exec]), and reads what
// they use ([CPUTime], [RSS], [Descriptors], [Threads]).
//
// # CPU time
//
// [CPUTime] reads the CPU clock of a process: clock_gettime(2) with the clock id that clock_getcpuclockid(3) makes from
// the process id. It is the most exact account of the kernel. It has the user and kernel time in nanoseconds of all
// threads, including ended ones and the workers of io_uring, and it is up to date at the time of the call. The same sum
// in /proc/PID/stat is rounded to ticks of 10 ms. /proc/PID/schedstat is of one thread and up to a tick late. All three
// charge interrupts and softirqs to the process that they interrupt.
//
// # Life of a child
//
// Every child has its own process group. It gets SIGTERM when its parent dies. When [Child.Stop] returns, the child and
// its descendants have ended.
package proc
