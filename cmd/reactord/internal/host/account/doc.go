// Package account changes the user that a process runs as, once and for good.
//
// # How to use it
//
// [Become] is called early in main, while the process has one user, and nothing but its configuration was read. It
// does not return if it has something to do: it starts the program again, in the same process, as the other user.
// [Check] is called later, by code that must not run as another user, and then [Conceal].
//
// # What it guarantees
//
// The program that is started again has the user, the group and the supplementary groups on all its threads, because
// it begins with one. It can get no more privileges: no_new_privs is set, and of the capabilities it has only
// CAP_NET_BIND_SERVICE, for ports below 1024, if the process had that before. A program that it executes keeps it, too
// (it is an ambient capability), so that an upgrade can open the same ports. All others are out of the bounding set.
//
// A change of the user by setuid(2) alone would leave that to each thread.
//
// [Conceal] is called by the program that was started again: only root can trace the process then, or read its memory,
// and it leaves no core dump. See PR_SET_DUMPABLE(2const).
package account
