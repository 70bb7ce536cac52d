// Package simulation runs a proxy on simulated machines, in virtual time, with clients that come and servers that fail.
//
// [Run] plays a [Scenario] with a seed. The proxy is the real one, on the loops of package reactor: its limits, queues,
// checks, ejections, retries and changes of plans are those of a process. So is its planner, which merges the file,
// overrides, and what sources of discovery are told. Package simring simulates the kernel and the network. Clients and
// servers are models: they exchange messages whose bytes are compared on both sides, and their cryptography is a delay.
// A run is a function of its scenario and its seed.
package simulation
