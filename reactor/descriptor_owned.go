//go:build linux

package reactor

import (
	"math/bits"
	"sync/atomic"
)

// ownedFDs records which file descriptors belong to a Descriptor of the loop, a bit each. It detects descriptors that
// are given to two Descriptors, and those that were never closed. A page is made when it is first needed. It is
// accessed from any thread, because a listener may be opened on any.
type ownedFDs struct {
	pages [fdPages]atomic.Pointer[[fdsPerPage / 64]atomic.Uint64]
}

const (
	fdsPerPage = 1 << 13 // a page takes 1 KiB
	fdPages    = 1 << 8  // descriptors from 2 097 152 on are not watched
)

// take notes that fd is owned. It returns false if it was already.
func (t *ownedFDs) take(fd int32) bool {
	word, bit := t.word(fd, true)
	return word == nil || word.Or(bit)&bit == 0
}

// drop notes that fd is no longer owned.
func (t *ownedFDs) drop(fd int32) {
	if word, bit := t.word(fd, false); word != nil {
		word.And(^bit)
	}
}

// word returns the word and the mask of fd's bit; nil if fd is not watched.
func (t *ownedFDs) word(fd int32, grow bool) (*atomic.Uint64, uint64) {
	if uint32(fd) >= fdsPerPage*fdPages {
		return nil, 0
	}
	p := &t.pages[fd/fdsPerPage]
	page := p.Load()
	if page == nil {
		if !grow {
			return nil, 0
		}
		p.CompareAndSwap(nil, new([fdsPerPage / 64]atomic.Uint64))
		page = p.Load()
	}
	return &page[fd%fdsPerPage/64], 1 << (fd % 64)
}

// each calls f with every descriptor that is owned, the lowest first.
func (t *ownedFDs) each(f func(fd int)) {
	for i := range t.pages {
		page := t.pages[i].Load()
		if page == nil {
			continue
		}
		for j := range page {
			for w := page[j].Load(); w != 0; w &= w - 1 {
				f(i*fdsPerPage + j*64 + bits.TrailingZeros64(w))
			}
		}
	}
}

// count returns the number of owned descriptors.
func (t *ownedFDs) count() (n int) {
	for i := range t.pages {
		page := t.pages[i].Load()
		if page == nil {
			continue
		}
		for j := range page {
			n += bits.OnesCount64(page[j].Load())
		}
	}
	return n
}
