// Package pid1 is the first process of a container whose program replaces itself: an init process that lives as long as
// the program, whichever process that is.
//
// The usual ones (tini, which is docker run --init; dumb-init; catatonit) end with the process that they have started,
// which an upgrade ends. That would end the container, with all its connections. They also send signals to that process
// only.
//
// # How to use it
//
// [Run] starts the program, and returns when it has ended. Meanwhile it passes signals on to the main process: the one
// that it has started, until that one names another by MAINPID= of sd_notify(3). It takes no other notification
// seriously, but answers BARRIER=1, as sd_notify_barrier(3) demands.
//
// # What it guarantees
//
// The main process receives each signal once: it is not in the process group of a terminal. Only the main process can
// name another one. Every process that has lost its parent is reaped, also if Run is not in process 1. When the main
// process ends, so does Run, with the same exit status: if this is process 1, the kernel ends what is left.
package pid1
