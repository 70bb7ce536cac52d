// Package host has the interfaces of what a loop of package reactor needs: a [Ring] and a [System]. [Process] is the
// system of a real process. A simulated kernel has its own ring and system.
//
// It is internal on purpose: reactor.NewLoopOn takes these types, so that only this module puts loops on other rings
// than those of packages uring and epoll.
package host
