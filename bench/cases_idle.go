package main

// idleConns is how many connections idle-echo has. A process needs a descriptor for each.
const idleConns = 15_000

// idleEcho compares the memory of echo servers when each connection has echoed one message and is idle.
func idleEcho() *benchCase {
	return &benchCase{
		Name: "idle-echo", Title: "Echo, memory of 15 000 idle connections",
		Conns: idleConns, Size: 128, Idle: true, Refs: []string{gnetEcho, goNet},
		Claims: []claim{
			{Peer: echoUring, Limit: 0.5}, {Peer: echoEpoll, Limit: 0.5},
			{Peer: taskUring, Limit: 3}, {Peer: taskEpoll, Limit: 3},
		},
	}
}
