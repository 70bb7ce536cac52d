// Package history remembers what the proxy has done lately, in memory of fixed size, so that the status page is not
// empty when it is opened.
//
// A [Recorder] is given a reading of the proxy once a second. It keeps points of the whole process, of the busiest and
// most failing listeners, backends and servers, and the failures of the last hour with their shares of the last minute.
// It reads no loop and starts no goroutine.
package history
