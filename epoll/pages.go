//go:build linux

package epoll

// pages is an array that grows by pages: nothing in it is ever copied or moves, and less than a page of
// it is not used. The zero value is empty.
type pages[I int32 | uint32, T any] struct {
	page []*[pageLen]T // nil if nothing of it was ever made
}

const (
	pageBits = 8
	pageLen  = 1 << pageBits
)

// at returns the element with index i, which must have been made.
func (p *pages[I, T]) at(i I) *T { return &p.page[i>>pageBits][i&(pageLen-1)] }

// has reports whether the element with index i was made.
func (p *pages[I, T]) has(i I) bool {
	n := uint(i) >> pageBits
	return n < uint(len(p.page)) && p.page[n] != nil
}

// make makes the element with index i, and its neighbours.
func (p *pages[I, T]) make(i I) {
	n := int(i >> pageBits)
	for n >= len(p.page) {
		p.page = append(p.page, nil)
	}
	if p.page[n] == nil {
		p.page[n] = new([pageLen]T)
	}
}
