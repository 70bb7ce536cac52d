// Package server serves connections with handlers: on each loop a handler is lent the bytes that arrive, and appends
// what is to be sent.
package server
