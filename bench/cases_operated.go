package main

// operatedCases returns the cases of proxies that have what an operator runs them with, and of proxies with more loops
// than CPUs.
func operatedCases() []*benchCase {
	return []*benchCase{
		{
			Name: "churn", Title: "Proxy, connect, 128 B, reset", Group: operatedProxies, Method: connectionTime,
			Conns: 8, Load: churnLoad, Proxy: true, Operated: true, Refs: []string{proxyHAPrxy, proxyNginx},
			Claims: []claim{{proxyUring, proxyHAPrxy, 0.9}, {proxyEpoll, proxyHAPrxy, 1}},
		},
		{
			Name: "churn-8", Title: "Proxy with eight loops, connect, 128 B, reset", Group: crowdedOperated,
			Method: connectionTime, Conns: 8, Load: churnLoad, Proxy: true, Operated: true,
			Refs: []string{oneUring, oneEpoll}, Claims: crowdedClaims,
		},
		{
			Name: "proxy-128-8", Title: "Proxy with eight loops, 64 connections × 128 B", Group: crowdedProxies,
			Method: messageTime, Conns: 64, Size: 128, Proxy: true, Refs: []string{oneUring, oneEpoll},
			Claims: crowdedClaims,
		},
		{
			Name: "start-memory", Title: "Proxy, resident memory a second after the start", Group: operatedProxies,
			Method: startMemory, Proxy: true, Operated: true, Refs: []string{proxyHAPrxy, proxyNginx},
			Claims: []claim{{Peer: proxyUring, Limit: 16}, {Peer: proxyEpoll, Limit: 16}},
		},
		{
			Name: "start-time", Title: "Proxy, time until it accepts a connection", Group: operatedProxies,
			Method: startTime, Proxy: true, Operated: true, Refs: []string{proxyHAPrxy, proxyNginx},
			Claims: []claim{{Peer: proxyUring, Limit: 12}, {Peer: proxyEpoll, Limit: 12}},
		},
	}
}

// churnLoad has a new connection for each message. A reset leaves no port in TIME_WAIT.
var churnLoad = []string{"connect", "--size", "128", "--close", "rst"}

var crowdedClaims = []claim{{proxyUring, oneUring, 1.1}, {proxyEpoll, oneEpoll, 1.1}}
