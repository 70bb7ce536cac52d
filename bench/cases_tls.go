package main

// tlsCases returns the cases of proxies at which TLS ends.
func tlsCases() []*benchCase {
	return []*benchCase{
		{
			Name: "tls-handshake", Title: "Proxy, full TLS handshake, 128 B, reset", Group: tlsProxies,
			Method: connectionTime, Conns: 8, Load: churnLoad, TLS: true, Proxy: true,
			Refs:   []string{goTLS, proxyHAPrxy, proxyNginx},
			Claims: []claim{{proxyUring, goTLS, 1}},
		},
		{
			Name: "tls-resume", Title: "Proxy, resumed TLS session, 128 B, reset", Group: tlsProxies,
			Method: connectionTime, Conns: 8, Load: churnLoad, TLS: true, Resume: true, Proxy: true,
			Refs: []string{goTLS, proxyHAPrxy, proxyNginx},
		},
		{
			Name: "tls-128", Title: "Proxy, 64 TLS connections × 128 B", Group: tlsProxies, Method: messageTime,
			Conns: 64, Size: 128, TLS: true, Proxy: true, Refs: []string{goTLS, proxyHAPrxy, proxyNginx},
		},
		{
			Name: "idle-tls", Title: "Proxy, memory of 3 000 idle pairs with TLS", Group: tlsProxies, Method: pairMemory,
			Conns: 3000, Size: 128, TLS: true, Proxy: true, Refs: []string{goTLS, proxyHAPrxy, proxyNginx},
			Claims: []claim{{Peer: proxyUring, Limit: 4}, {Peer: proxyEpoll, Limit: 4}},
		},
	}
}
