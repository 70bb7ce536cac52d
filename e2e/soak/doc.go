// Command soak loads the daemon for long with everything that it does at a time, and watches whether it grows:
//
//	go run ./e2e/soak -t 1h -out DIR
//
// Connections come and go, plain and with TLS; others stay; datagrams are echoed; clients read slowly, half-close and
// reset; servers reset, die and come back; the configuration is read again every few seconds, with listeners that come
// and go; the access log is rotated. The load is moderate: less than half a core in all. What the clients get back is
// compared.
//
// DIR gets samples.tsv, one line for each -every; summary.txt, which is also printed; the log of the daemon; and its
// configuration. The command fails if a byte was wrong, if the daemon did not answer although two of its servers were
// there, if it logged an error, or if a figure grows: see growth.go.
//
// # Files
//
//	main.go    flags, and the order of things
//	daemon.go  the daemon, its configuration and its reloads
//	servers.go the servers, and their faults
//	clients.go the kinds of clients
//	samples.go what is read of the daemon
//	growth.go  what grows
package main
