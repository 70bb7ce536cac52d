// Package account changes the user that a process runs as, once and for good.
//
// # How to use it
//
// Call [Become] early in main, when nothing but the configuration was read. If the user has to change, it does not
// return: it executes the program again, in the same process, as the other user. Call [Check] later, in code that must
// not run as another user, and then [Conceal].
//
// # What it guarantees
//
// The executed program has the user, the group and the supplementary groups on all its threads, because it begins with
// one. It cannot gain privileges: no_new_privs is set, and its only capability is CAP_NET_BIND_SERVICE, for ports below
// 1024, if the process had that before. Programs that it executes inherit it (it is an ambient capability), so that an
// upgrade can open the same ports. All others are removed from the bounding set.
//
// setuid(2) alone would change only one thread.
//
// After [Conceal], only root can trace the process or read its memory, and it leaves no core dump. See
// PR_SET_DUMPABLE(2const).
package account
