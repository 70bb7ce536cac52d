package translate

// demand has the requirements of listeners for the backend of a cluster.
type demand struct {
	hash      bool // hash by the client's address, if the cluster hashes; otherwise random
	datagrams bool // used by a UDP listener
	attempts  int  // servers to try; 0 if unset
	buffer    int  // bytes that a connection may buffer; 0 if unset
}

// with combines the demands of both.
func (u demand) with(other demand) demand {
	return demand{
		hash: u.hash || other.hash, datagrams: u.datagrams || other.datagrams,
		attempts: max(u.attempts, other.attempts), buffer: lesser(u.buffer, other.buffer),
	}
}
