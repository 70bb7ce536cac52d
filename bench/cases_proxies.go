package main

// proxyCases returns the cases of proxies.
func proxyCases() []*benchCase {
	return []*benchCase{
		{
			Name: "proxy-128", Title: "Proxy, 64 connections × 128 B", Group: proxies, Method: messageTime,
			Conns: 64, Size: 128, Proxy: true, Refs: []string{proxyNginx, proxyHAPrxy, goCopy},
			Claims: []claim{
				{proxyUring, proxyNginx, 1}, {proxyUring, proxyHAPrxy, 1},
				{proxyUring, goCopy, better(1.5)}, {proxyEpoll, proxyNginx, 1.05},
			},
		},
		{
			Name: "proxy-4k", Title: "Proxy, 64 connections × 4 KiB", Group: proxies, Method: messageTime,
			Conns: 64, Size: 4 << 10, Proxy: true, Refs: []string{proxyNginx, proxyHAPrxy, goCopy},
			Claims: []claim{
				{proxyUring, proxyNginx, 1}, {proxyUring, proxyHAPrxy, 1}, {proxyEpoll, proxyNginx, better(1.05)},
			},
		},
		{
			Name: "proxy-16k", Title: "Proxy, 64 connections × 16 KiB", Group: proxies, Method: messageTime,
			Conns: 64, Size: 16 << 10, Proxy: true, Refs: []string{proxyNginx, proxyHAPrxy, goCopy},
			Claims: []claim{
				{proxyUring, proxyNginx, better(1.1)}, {proxyUring, proxyHAPrxy, better(1.1)},
				{proxyEpoll, proxyNginx, better(1.05)}, {proxyEpoll, proxyHAPrxy, better(1.05)},
			},
		},
		{
			Name: "proxy-1k", Title: "Proxy, 512 connections × 1 KiB", Group: proxies, Method: messageTime,
			Conns: 512, Size: 1 << 10, Proxy: true, Refs: []string{proxyNginx, proxyHAPrxy, goCopy},
			Claims: []claim{{proxyUring, proxyNginx, better(1.3)}, {proxyEpoll, proxyNginx, 1.05}},
		},
		{
			Name: "proxy-1", Title: "Proxy, one connection × 128 B", Group: proxies, Method: messageTime,
			Conns: 1, Size: 128, Proxy: true, Refs: []string{cUring, proxyNginx},
			Claims: []claim{{proxyUring, cUring, 1.05}},
		},
		{
			Name: "rate-2k", Title: "Proxy, 2 000 messages/s of 128 B over 64 connections", Group: proxies,
			Method: messageTime, Conns: 64, Size: 128, Rate: 2000, Proxy: true, Refs: []string{cUring, proxyNginx},
			Claims: []claim{{proxyUring, cUring, 1.05}},
		},
		{
			Name: "rate-20k", Title: "Proxy, 20 000 messages/s of 128 B over 64 connections", Group: patientProxies,
			Method: messageTime, Conns: 64, Size: 128, Rate: 20000, Proxy: true, Refs: []string{cUring, proxyUring},
			Claims: []claim{{minUring, proxyUring, 1}, {minEpoll, proxyEpoll, 1}},
		},
		{
			Name: "bulk-1", Title: "Proxy, one bulk stream", Group: proxies, Method: bulkTime,
			Conns: 1, Size: bulkChunk, Proxy: true, Refs: []string{proxyNginx, proxyHAPrxy, goCopy},
		},
		{
			Name: "bulk-8", Title: "Proxy, 8 bulk streams", Group: proxies, Method: bulkTime,
			Conns: 8, Size: bulkChunk, Proxy: true, Refs: []string{proxyNginx, proxyHAPrxy, goCopy},
		},
		{
			Name: "idle", Title: "Proxy, memory of 3 000 idle pairs", Group: proxies, Method: pairMemory,
			Conns: 3000, Size: 128, Proxy: true, Refs: []string{proxyNginx, proxyHAPrxy},
			Claims: []claim{{Peer: proxyUring, Limit: 1.5}, {Peer: proxyEpoll, Limit: 1.5}},
		},
	}
}

// bulkChunk is the number of bytes of each send of a bulk upstream.
const bulkChunk = 64 << 10
