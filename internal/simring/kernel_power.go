package simring

// PowerOff ends all that runs on the machine, as when it loses its power: its threads never run again, and nothing is
// closed, so that other machines learn nothing. Packets to it and from it are lost, those under way too, until PowerOn.
// Its disk keeps what was written.
//
// A thread of another machine calls it, or an event.
func (k *Kernel) PowerOff() {
	k.log("%s loses its power", k.name)
	k.off = true
	for _, t := range k.threads {
		t.lost = t.lost || t.k == k && !t.ended
	}
	for _, r := range k.rings {
		r.lost, r.jobs = true, nil
	}
	conns := k.connections()
	for _, c := range conns {
		c.vanish()
	}
	for _, all := range k.ports {
		for _, s := range all {
			vanish(s)
		}
	}
	for _, s := range k.names {
		s.vanish()
	}
	for _, f := range k.files {
		if f != nil {
			k.drop(f)
		}
	}
	k.files, k.lowest, k.used, k.opened = nil, 0, 0, 0
	clear(k.foreign)
	clear(k.owners)
	clear(k.ports)
	clear(k.names)
	k.children, k.waiting, k.rings, k.notices = nil, nil, nil, nil
	for _, c := range conns { // peers that were waiting for room send again
		c.peer.move()
	}
}

// PowerOn lets the machine answer again. Nothing runs on it yet: what arrives on connections of before is answered by a
// RST.
func (k *Kernel) PowerOn() {
	k.log("%s has power again", k.name)
	k.off = false
}

// HasPower reports whether the machine has not lost its power.
func (k *Kernel) HasPower() bool { return !k.off }

// connections returns the machine's sides of all connections to other machines, which may have no descriptor.
func (k *Kernel) connections() (all []*tcp) {
	for _, to := range k.machines { // in the same order each time
		if l := k.links[to]; l != nil {
			l.prune()
			all = append(all, l.conns...)
		}
	}
	return all
}

// drop ends an open file, however many descriptors refer to it.
func (k *Kernel) drop(f *file) {
	f.entries = nil
	if vanish(f.object) || f.refs == 0 {
		return
	}
	f.refs = 0
	f.object.release()
}

// vanish ends a socket without a word, and reports whether the object is one.
func vanish(o object) bool {
	switch s := o.(type) {
	case *tcp:
		s.vanish()
	case *unixSocket:
		s.vanish()
	case socket: // datagrams
	default:
		return false
	}
	return true
}

// vanish ends a listener, or this side of a connection, without a word. That of the peer stays.
func (e *tcp) vanish() {
	for _, waiting := range e.backlog {
		waiting.vanish()
	}
	e.state, e.backlog, e.orphaned, e.endpoint, e.file = reset, nil, true, nil, nil
	e.in.clear(&e.k.queues)
	e.out.clear(&e.k.queues)
}

// vanish ends a socket that only threads of its machine use.
func (s *unixSocket) vanish() {
	for _, waiting := range s.backlog {
		waiting.vanish()
	}
	in := s.in
	s.state, s.closed, s.file, s.in, s.backlog, s.waiting, s.held = unixIdle, true, nil, nil, nil, nil, 0
	for _, p := range in {
		for _, f := range p.files {
			s.k.drop(f)
		}
	}
}
