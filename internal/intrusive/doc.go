// Package intrusive provides a doubly linked list whose links are fields of what is listed, so that listing
// something allocates nothing and removing it takes constant time.
//
// What is listed embeds a [Links] for each list that it can be on. A [List] deals in *Links; [Owner] finds the
// structure around one.
//
// Links are cleared on removal. A list that kept the links of what it removed would tie all that ever were
// neighbours together, and one reference to any of them would keep them all from the garbage collector.
//
// Nothing here is synchronised.
package intrusive
