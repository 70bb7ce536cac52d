//go:build linux

// Package netconn has connections of package reactor as net.Conn, so that bufio, crypto/tls, net/http and other
// libraries run over loops unchanged.
package netconn
