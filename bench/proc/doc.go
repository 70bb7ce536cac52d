// Package proc starts the processes that a measurement needs, each on its CPU, and reads what they
// cost.
//
// # CPU time
//
// [CPUTime] reads the process's CPU clock, clock_gettime(2) with the clock id that
// clock_getcpuclockid(3) makes from a process id. Of the kernel's accounts it is the exact one: in
// nanoseconds, user and kernel time of all threads including those that have ended and io_uring's
// workers, and brought up to date at the moment of the call. The same sum in /proc/PID/stat is
// rounded to ticks of 10 ms; /proc/PID/schedstat covers one thread and lags by up to a scheduler
// tick. What interrupts and softirqs cost is charged to whom they interrupt, by all three alike.
//
// # Life of a child
//
// Every process is started in a process group of its own, is asked to end (SIGTERM) when its parent
// dies, and is gone with its descendants when Stop returns.
package proc
