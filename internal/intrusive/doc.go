// Package intrusive provides a doubly linked list whose links are fields of its elements. So adding an element
// allocates nothing, and removing it takes constant time.
//
// An element is a struct with a field of type [Links] for each list that it can be on. The methods of a [List] take and
// return *Links; [Owner] finds the struct that contains one.
//
// Links are cleared on removal. Otherwise a removed element would still refer to its former neighbours, and these to
// theirs: one reference to an element would keep all of them from the garbage collector.
//
// Nothing here is synchronised.
package intrusive
