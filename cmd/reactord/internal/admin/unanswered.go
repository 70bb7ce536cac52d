package admin

import (
	"net"
	"net/http"
	"sync"
)

// unanswered is the connections of a server with a request that waits for its answer, or with none yet.
type unanswered struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
	none  chan struct{} // closed when there is none; nil: no caller waits
}

// note follows a connection. It is a hook of [http.Server].
func (u *unanswered) note(c net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch state {
	case http.StateNew, http.StateActive:
		if u.conns == nil {
			u.conns = map[net.Conn]struct{}{}
		}
		u.conns[c] = struct{}{}
	default:
		delete(u.conns, c)
		u.tell()
	}
}

// wait is closed when there is none. It is called once.
func (u *unanswered) wait() <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	none := make(chan struct{})
	u.none = none
	u.tell()
	return none
}

func (u *unanswered) tell() {
	if u.none != nil && len(u.conns) == 0 {
		close(u.none)
		u.none = nil
	}
}
