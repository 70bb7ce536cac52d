package simring

import (
	"slices"

	"golang.org/x/sys/unix"
)

// job is the work of a ring's worker thread for an entry. Jobs are done in any order.
type job struct {
	e           *entry
	state       jobState
	work        func() int  // the result, or a negative errno; -EAGAIN: nothing was done
	blocks      func() bool // whether it waits, on -EAGAIN; nil: it never does
	interrupted bool        // a cancel came after it was begun: it ends with EINTR rather than block
}

// jobState is where a job stands. Only a queued one can be cancelled.
//
//	queued --a worker is free--> running --it would wait--> blocked --woken, or interrupted--> running
//	running --it has a result--> gone, and its entry has completed
type jobState uint8

const (
	queued jobState = iota
	running
	blocked
)

// delegate gives the entry, which is enlisted, to a worker. Work that may block has a worker to itself; a few workers
// share the other work.
func (e *entry) delegate(work func() int, blocks func() bool) {
	e.job = &job{e: e, work: work, blocks: blocks}
	if blocks != nil {
		e.job.run()
		return
	}
	e.ring.jobs = append(e.ring.jobs, e.job)
	e.ring.employ()
}

// employ gives jobs to workers that are free.
func (r *Ring) employ() {
	for k := r.k; len(r.jobs) != 0 && r.working < k.Odds.Workers; r.working++ {
		i := k.rng.IntN(len(r.jobs))
		j := r.jobs[i]
		r.jobs = slices.Delete(r.jobs, i, i+1)
		j.run()
	}
}

func (j *job) run() {
	j.state = running
	j.e.ring.k.soon(j.do)
}

func (j *job) do() {
	r := j.e.ring
	if r.lost {
		return
	}
	res := -int(unix.EINTR)
	if k := r.k; !k.chance(k.Odds.Interrupted) {
		res = j.work()
	}
	if res == -int(unix.EAGAIN) && j.blocks != nil && j.blocks() {
		if !j.interrupted {
			j.state = blocked
			return
		}
		res = -int(unix.EINTR)
	}
	j.e.finish(res, 0)
	if j.blocks == nil {
		r.working--
		r.employ()
	}
}

// wake lets a worker that is blocked try again.
func (j *job) wake() {
	if j.state == blocked {
		j.run()
	}
}

// cancel takes the job out of the queue. False: it was begun.
func (j *job) cancel() bool {
	if j.state != queued {
		j.interrupted = true
		j.wake()
		return false
	}
	r := j.e.ring
	i := slices.Index(r.jobs, j)
	r.jobs = slices.Delete(r.jobs, i, i+1)
	return true
}
