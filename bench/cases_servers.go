package main

// serverCases returns the cases of servers.
func serverCases() []*benchCase {
	return []*benchCase{
		{
			Name: "echo-128", Title: "Echo, 64 connections × 128 B", Group: echoServers, Method: messageTime,
			Conns: 64, Size: 128, Refs: []string{cUring, goNet},
			Claims: []claim{
				{echoUring, cUring, 1.03}, {echoUring, goNet, better(1.25)},
				{echoUring, gnetEcho, 1}, {echoUring, netpollEcho, 1}, {echoUring, nbioEcho, 1},
				{handUring, gnetEcho, better(1.3)}, {handUring, netpollEcho, better(1.3)}, {handUring, nbioEcho, better(1.3)},
				{handUring, goNet, better(1.3)}, {handUring, echoUring, 1.03},
				{taskUring, gnetEcho, better(1.2)}, {taskUring, netpollEcho, better(1.2)}, {taskUring, nbioEcho, better(1.2)},
				{taskUring, goNet, better(1.2)},
			},
		},
		{
			Name: "echo-16k", Title: "Echo, 256 connections × 16 KiB", Group: echoServers, Method: messageTime,
			Conns: 256, Size: 16 << 10, Refs: []string{cUring, goNet},
			Claims: []claim{
				{echoUring, goNet, 1}, {echoUring, gnetEcho, 1}, {echoUring, netpollEcho, 1}, {echoUring, nbioEcho, 1},
				{handUring, gnetEcho, better(1.15)}, {handUring, cEpoll, 1.05},
			},
		},
		{
			Name: "idle-echo", Title: "Echo, memory of 15 000 idle connections", Group: echoServers, Method: connectionMemory,
			Conns: idleConns, Size: 128, Refs: []string{gnetEcho, goNet},
			Claims: []claim{
				{Peer: echoUring, Limit: 0.5}, {Peer: echoEpoll, Limit: 0.5},
				{Peer: taskUring, Limit: 3}, {Peer: taskEpoll, Limit: 3},
			},
		},
		{
			Name: "udp-128", Title: "UDP echo, 64 sockets × 128 B", Group: datagramServers, Method: datagramTime,
			Conns: 64, Size: 128, Refs: []string{goNet},
			Claims: []claim{{echoUring, goNet, 1}, {echoEpoll, goNet, 1}},
		},
		{
			Name: "redis-get", Title: "RESP, 50 connections × 16 outstanding GET of 64 B", Group: redisServers,
			Method: messageTime, Conns: 50, Size: 64, Load: redisLoad("get"), Refs: []string{redisServer, gnetEcho},
			Claims: redisClaims,
		},
		{
			Name: "redis-set", Title: "RESP, 50 connections × 16 outstanding SET of 64 B", Group: redisServers,
			Method: messageTime, Conns: 50, Size: 64, Load: redisLoad("set"), Refs: []string{redisServer, gnetEcho},
			Claims: redisClaims,
		},
		{
			Name: "http", Title: "HTTP/1.1, 64 connections", Group: httpServers, Method: messageTime,
			Conns: 64, Load: []string{"http"}, Refs: []string{goNet},
			Claims: []claim{{gorUring, goNet, 1.15}, {gorEpoll, goNet, 1.15}},
		},
		{
			Name: "https", Title: "HTTP/1.1 over TLS, 64 connections", Group: httpsServers, Method: messageTime,
			Conns: 64, TLS: true, Load: []string{"http"}, Refs: []string{goNet},
			Claims: []claim{{taskUring, goNet, 1}},
		},
	}
}

// idleConns is how many connections idle-echo has. A process needs a descriptor for each.
const idleConns = 15_000

var redisClaims = []claim{{handUring, redisServer, better(1.1)}, {handUring, gnetEcho, 1}}

// redisLoad returns the load of a command in RESP. There are few keys, so that all are set before the measurement.
func redisLoad(command string) []string {
	return []string{"redis", "--command", command, "--pipeline", "16", "--keys", "100", "--size", "64"}
}
