package main

import "fmt"

// A benchCase is one load under which peers are compared.
type benchCase struct {
	Name   string
	Title  string
	Conns  int
	Size   int      // bytes of a message
	Rate   int      // messages/s of all connections in an open loop; 0: a closed loop
	Idle   bool     // the figure is memory of idle connections instead of CPU time
	Bulk   bool     // each connection has a stream from the upstream, without pauses
	UDP    bool     // the messages are datagrams, and the peers echo datagrams
	Proxy  bool     // the peers are proxies
	Load   []string // the mode of the generator with its options; nil: echo, or rate
	Serve  string   // what the peers serve; "": they echo, or are proxies
	Refs   []string // the peers that ratios are computed to
	Claims []claim
}

// A claim is a bound on the figure of a peer: at most Limit times the figure of Ref in the same round, or, without Ref,
// at most Limit.
type claim struct {
	Peer  string
	Ref   string
	Limit float64
}

// better returns the limit of the claim that a peer is this many times better.
func better(times float64) float64 { return 1 / times }

func cases() []*benchCase { return append(serverCases(), proxyCases()...) }

// serverCases returns the cases of servers.
func serverCases() []*benchCase {
	return []*benchCase{
		{
			Name: "echo-128", Title: "Echo, 64 connections × 128 B",
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
			Name: "echo-16k", Title: "Echo, 256 connections × 16 KiB",
			Conns: 256, Size: 16 << 10, Refs: []string{cUring, goNet},
			Claims: []claim{
				{echoUring, goNet, 1}, {echoUring, gnetEcho, 1}, {echoUring, netpollEcho, 1}, {echoUring, nbioEcho, 1},
				{handUring, gnetEcho, better(1.15)}, {handUring, cEpoll, 1.05},
			},
		},
		idleEcho(),
		{
			Name: "udp-128", Title: "UDP echo, 64 sockets × 128 B",
			Conns: 64, Size: 128, UDP: true, Refs: []string{goNet},
			Claims: []claim{{echoUring, goNet, 1}, {echoEpoll, goNet, 1}},
		},
		{
			Name: "redis-get", Title: "RESP, 50 connections × 16 outstanding GET of 64 B",
			Conns: 50, Size: 64, Serve: serveRESP, Load: redisLoad("get"), Refs: []string{redisServer, gnetEcho},
			Claims: redisClaims,
		},
		{
			Name: "redis-set", Title: "RESP, 50 connections × 16 outstanding SET of 64 B",
			Conns: 50, Size: 64, Serve: serveRESP, Load: redisLoad("set"), Refs: []string{redisServer, gnetEcho},
			Claims: redisClaims,
		},
		{
			Name: "http", Title: "HTTP/1.1, 64 connections",
			Conns: 64, Serve: serveHTTP1, Load: []string{"http"}, Refs: []string{goNet},
			Claims: []claim{{gorUring, goNet, 1.15}, {gorEpoll, goNet, 1.15}},
		},
		{
			Name: "https", Title: "HTTP/1.1 over TLS, 64 connections",
			Conns: 64, Serve: serveHTTPS, Load: []string{"http", "--insecure"}, Refs: []string{goNet},
			Claims: []claim{{taskUring, goNet, 1}},
		},
	}
}

// proxyCases returns the cases of proxies.
func proxyCases() []*benchCase {
	return []*benchCase{
		{
			Name: "proxy-128", Title: "Proxy, 64 connections × 128 B",
			Conns: 64, Size: 128, Proxy: true, Refs: []string{proxyNginx, proxyHAPrxy, goCopy},
			Claims: []claim{
				{proxyUring, proxyNginx, 1}, {proxyUring, proxyHAPrxy, 1},
				{proxyUring, goCopy, better(1.5)}, {proxyEpoll, proxyNginx, 1.05},
			},
		},
		{
			Name: "proxy-4k", Title: "Proxy, 64 connections × 4 KiB",
			Conns: 64, Size: 4 << 10, Proxy: true, Refs: []string{proxyNginx, proxyHAPrxy, goCopy},
			Claims: []claim{
				{proxyUring, proxyNginx, 1}, {proxyUring, proxyHAPrxy, 1}, {proxyEpoll, proxyNginx, 1.05},
			},
		},
		{
			Name: "proxy-16k", Title: "Proxy, 64 connections × 16 KiB",
			Conns: 64, Size: 16 << 10, Proxy: true, Refs: []string{proxyNginx, proxyHAPrxy, goCopy},
			Claims: []claim{
				{proxyUring, proxyNginx, 1}, {proxyUring, proxyHAPrxy, 1}, {proxyEpoll, proxyNginx, 1.05},
			},
		},
		{
			Name: "proxy-1k", Title: "Proxy, 512 connections × 1 KiB",
			Conns: 512, Size: 1 << 10, Proxy: true, Refs: []string{proxyNginx, proxyHAPrxy, goCopy},
			Claims: []claim{{proxyUring, proxyNginx, better(1.3)}, {proxyEpoll, proxyNginx, 1.05}},
		},
		{
			Name: "proxy-1", Title: "Proxy, one connection × 128 B",
			Conns: 1, Size: 128, Proxy: true, Refs: []string{cUring, proxyNginx},
			Claims: []claim{{proxyUring, cUring, 1.05}},
		},
		{
			Name: "rate-2k", Title: "Proxy, 2 000 messages/s of 128 B over 64 connections",
			Conns: 64, Size: 128, Rate: 2000, Proxy: true, Refs: []string{cUring, proxyNginx},
			Claims: []claim{{proxyUring, cUring, 1.05}},
		},
		{
			Name: "rate-20k", Title: "Proxy, 20 000 messages/s of 128 B over 64 connections",
			Conns: 64, Size: 128, Rate: 20000, Proxy: true, Refs: []string{cUring, proxyUring},
			Claims: []claim{{minUring, proxyUring, 1}, {minEpoll, proxyEpoll, 1}},
		},
		{
			Name: "bulk-1", Title: "Proxy, one bulk stream",
			Conns: 1, Size: bulkChunk, Bulk: true, Proxy: true, Refs: []string{proxyNginx, proxyHAPrxy, goCopy},
		},
		{
			Name: "bulk-8", Title: "Proxy, 8 bulk streams",
			Conns: 8, Size: bulkChunk, Bulk: true, Proxy: true, Refs: []string{proxyNginx, proxyHAPrxy, goCopy},
		},
		{
			Name: "idle", Title: "Proxy, memory of 3 000 idle pairs",
			Conns: 3000, Size: 128, Idle: true, Proxy: true, Refs: []string{proxyNginx, proxyHAPrxy},
			Claims: []claim{{Peer: proxyUring, Limit: 1.5}, {Peer: proxyEpoll, Limit: 1.5}},
		},
	}
}

// group returns the group of the peers (see suitePeers).
func (c *benchCase) group() string {
	switch {
	case c.Serve != "":
		return c.Serve
	case c.Proxy && c.Rate >= gatheringRate:
		return "patient"
	case c.Proxy:
		return "proxy"
	case c.UDP:
		return "udp"
	}
	return "echo"
}

// target returns the URL of a server.
func (c *benchCase) target(address string) string {
	if c.Serve == serveHTTPS {
		return "tls://" + address
	}
	return "tcp://" + address
}

var redisClaims = []claim{{handUring, redisServer, better(1.1)}, {handUring, gnetEcho, 1}}

// bulkChunk is the number of bytes of each send of a bulk upstream.
const bulkChunk = 64 << 10

// redisLoad returns the load of a command in RESP. There are few keys, so that all are set before the measurement.
func redisLoad(command string) []string {
	return []string{"redis", "--command", command, "--pipeline", "16", "--keys", "100", "--size", "64"}
}

// unit returns the unit of the figure that the case compares.
func (c *benchCase) unit() string {
	switch {
	case c.Idle && c.Proxy:
		return "KiB/pair"
	case c.Idle:
		return "KiB/connection"
	case c.Bulk:
		return "CPU ms/GiB"
	}
	return "CPU µs/message"
}

// speed returns the unit of the rate that is shown next to the figure.
func (c *benchCase) speed() string {
	if c.Bulk {
		return "MiB/s"
	}
	return "messages/s"
}

// text describes the claim.
func (c claim) text(unit string) string {
	if c.Ref == "" {
		return fmt.Sprintf("%s: at most %.2f %s", c.Peer, c.Limit, unit)
	}
	return fmt.Sprintf("%s: at most %.2f × %s", c.Peer, c.Limit, c.Ref)
}
