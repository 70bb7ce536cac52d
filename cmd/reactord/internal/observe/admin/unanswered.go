package admin

import (
	"net"
	"net/http"
	"sync"
)

// unanswered tracks connections of a server whose request is unanswered or still to come.
type unanswered struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
	none  chan struct{} // closed when none is left; nil if nothing waits
}

// note tracks the state of a connection. It is a hook of [http.Server].
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

// wait returns a channel that is closed when none is left. It is called once.
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
