package translate

// use is what listeners want of the backend of a cluster.
type use struct {
	hash      bool // connections are hashed by the client's address, if the cluster hashes; else their server is random
	datagrams bool // a listener of UDP uses it
	attempts  int  // how many servers are tried at most; 0: they do not say
	buffer    int  // bytes that a connection may keep; 0: likewise
}

// with is what both want.
func (u use) with(other use) use {
	return use{
		hash: u.hash || other.hash, datagrams: u.datagrams || other.datagrams,
		attempts: max(u.attempts, other.attempts), buffer: lesser(u.buffer, other.buffer),
	}
}
