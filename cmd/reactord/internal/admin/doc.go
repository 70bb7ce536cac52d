// Package admin is the daemon's HTTP server for those who watch over it.
//
//	GET /metrics  what the given handler says
//	GET /livez    200 while the process answers at all: restart it when this fails
//	GET /readyz   200 while new connections are welcome, 503 once draining: send none when this fails
//	GET /         a page with links to these
//
// Before Serve nobody is answered, so a process that is still starting is neither alive nor ready.
//
// It runs on net/http and ordinary goroutines, apart from the loops, so that it can be asked when
// they are busy. It has no authentication and changes nothing; bind it to an address that only those
// can reach who may know.
package admin
