// Package seq is about senders of many items.
package seq
