// Package seq is about senders of many items: multishot accepts and receives, and what is made of them.
//
// A Sequence is connected and started as a sender is. It hands its items to the receiver by SetNext, one
// call at a time, and ends with exactly one of the three completions.
//
// Source: stdexec's sequence senders, reduced to items that are consumed inside SetNext.
package seq
