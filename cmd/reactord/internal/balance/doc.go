// Package balance chooses the server of a backend that a connection goes to. It does no I/O.
package balance
