//go:build linux

package epoll

// files are the records of all descriptors, and the list of those that are ready.
type files struct {
	records    pages[int32, file] // by descriptor
	head, tail int32              // of the ready list: descriptors plus one; 0 if it is empty
}

// at returns the record of a descriptor, which must exist.
func (fs *files) at(fd int32) *file { return fs.records.at(fd) }

// find returns the record of a descriptor, or nil.
func (fs *files) find(fd int32) *file {
	if fs.records.has(fd) {
		return fs.records.at(fd)
	}
	return nil
}

// make returns the record of a descriptor that is open, creating it if needed.
func (fs *files) make(fd int32) *file {
	if !fs.records.has(fd) {
		fs.records.make(fd)
	}
	return fs.records.at(fd)
}

// closing reports whether a close came for a descriptor whose file is still open.
func (fs *files) closing(fd int32) bool {
	f := fs.find(fd)
	return f != nil && f.is(closeRequested)
}

func (fs *files) anyReady() bool { return fs.head != 0 }

// enqueue puts a descriptor at the end of the ready list if an entry can be attempted on it.
func (fs *files) enqueue(fd int32) {
	f := fs.at(fd)
	if f.is(onReadyList) || !f.ready() {
		return
	}
	f.flags |= onReadyList
	f.nextReady = 0
	if fs.tail == 0 {
		fs.head = fd + 1
	} else {
		fs.at(fs.tail - 1).nextReady = fd + 1
	}
	fs.tail = fd + 1
}

// dequeue takes the first descriptor of the ready list, which must not be empty.
func (fs *files) dequeue() int32 {
	fd := fs.head - 1
	f := fs.at(fd)
	f.flags &^= onReadyList
	fs.head = f.nextReady
	if fs.head == 0 {
		fs.tail = 0
	}
	return fd
}

// work makes attempts, one for each direction and descriptor in turn, until nothing is ready or a batch of bytes was
// received.
func (r *Ring) work() {
	for r.spent = 0; r.files.anyReady() && r.spent < r.batch; r.spent += turnCost {
		fd := r.files.dequeue()
		r.serve(fd)
		r.files.enqueue(fd)
	}
}

// turnCost is charged to a batch for each turn, in addition to the bytes received: an estimate of the cache lines that
// the kernel touches for it.
const turnCost = 256

// serve makes one attempt for each direction of fd.
func (r *Ring) serve(fd int32) {
	f := r.files.at(fd)
	if e := r.entries.first(&f.out); e != nil && f.output == outputOpen {
		if r.attempt(e) == wouldBlock {
			f.fillOutput()
		}
	}
	if e := r.entries.first(&f.in); e != nil && f.input != inputEmpty {
		if r.attempt(e) == wouldBlock {
			f.clearInput()
		}
	}
}
