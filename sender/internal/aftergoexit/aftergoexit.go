// Package aftergoexit is about functions that are ended by runtime.Goexit while they have more to do.
package aftergoexit

// Run is deferred by a function that has more to do when something that it calls ends the goroutine by
// runtime.Goexit. Nothing can hold that up, but it runs deferred functions: so rest is called, on the same goroutine
// and thread, and may take as long as it likes. It does nothing if *returned, and lets a panic go on.
//
// It must be deferred itself, or it does not see the panic.
func Run(returned *bool, rest func()) {
	if *returned {
		return
	}
	if v := recover(); v != nil {
		panic(v)
	}
	rest()
}
