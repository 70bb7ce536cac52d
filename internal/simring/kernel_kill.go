package simring

import (
	"maps"
	"slices"
)

// Victim is a process that can be killed, beside others on its machine: its threads, and the rings and the descriptors
// that they make or receive.
type Victim struct {
	k       *Kernel
	name    string
	threads []*Thread
	rings   []*Ring
	fds     map[int]bool
}

// NewVictim returns a process without threads.
func (k *Kernel) NewVictim(name string) *Victim {
	return &Victim{k: k, name: name, fds: map[int]bool{}}
}

// Go makes a thread of the process, which runs f.
func (v *Victim) Go(name string, f func(t *Thread)) *Thread {
	t := v.k.Go(name, f)
	t.victim = v
	v.threads = append(v.threads, t)
	return t
}

// Kill ends the process, as SIGKILL does: its threads never run again, its operations are cancelled, and its
// descriptors are closed. A thread of another process calls it, or an event.
func (v *Victim) Kill() {
	k := v.k
	k.log("%s is killed", v.name)
	for _, t := range v.threads {
		t.lost = t.lost || !t.ended
	}
	for _, r := range v.rings {
		r.kill()
	}
	for _, fd := range slices.Sorted(maps.Keys(v.fds)) {
		_ = k.close(fd)
	}
}

// kill drops all operations of the ring.
func (r *Ring) kill() {
	r.lost, r.closed, r.jobs, r.ready = true, true, nil, nil
	for _, all := range r.entries {
		for _, e := range all {
			for _, f := range []*file{e.file, e.from} {
				if f != nil {
					f.entries = without(f.entries, e)
				}
			}
			e.state = completed
		}
	}
	clear(r.entries)
}

// opener returns the process that opens descriptors now, or nil.
func (k *Kernel) opener() *Victim {
	switch {
	case k.attempting != nil:
		return k.attempting.victim
	case k.current != nil:
		return k.current.victim
	}
	return nil
}

// belongs notes whose a new descriptor is.
func (k *Kernel) belongs(fd int) {
	if v := k.opener(); v != nil {
		v.fds[fd] = true
		k.owners[fd] = v
	}
}

// disown notes that a descriptor is closed.
func (k *Kernel) disown(fd int) {
	if v := k.owners[fd]; v != nil {
		delete(v.fds, fd)
		delete(k.owners, fd)
	}
}

// Give makes a descriptor the process's.
func (v *Victim) Give(fd int) {
	v.k.disown(fd)
	v.fds[fd], v.k.owners[fd] = true, v
}

// Name returns the name of the process.
func (v *Victim) Name() string { return v.name }
