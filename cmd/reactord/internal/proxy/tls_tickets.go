package proxy

import "time"

// rotateTickets has all listeners use a new key for session tickets each day, until the proxy ends.
func (p *Proxy) rotateTickets() {
	for {
		next := p.tickets.Rotate(time.Now())
		p.serveTickets()
		t := time.NewTimer(max(time.Until(next), time.Second))
		select {
		case <-t.C:
		case <-p.ended:
			t.Stop()
			return
		}
	}
}

// serveTickets has the listeners use the keys that there are now.
func (p *Proxy) serveTickets() {
	p.planning.Lock()
	defer p.planning.Unlock()
	for _, l := range p.table.Load().listeners {
		for _, e := range l.settings.Load().endings {
			p.tickets.Serve(e.keys, e.Config)
		}
	}
}
