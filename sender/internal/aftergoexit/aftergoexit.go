// Package aftergoexit lets a function complete its work when something that it calls ends the goroutine by
// runtime.Goexit.
package aftergoexit

// Run calls rest after a user's function has ended its caller by runtime.Goexit. The caller defers it:
//
//	returned := false
//	defer aftergoexit.Run(&returned, rest)
//	userFunction()
//	returned = true
//	rest()
//
// If userFunction calls runtime.Goexit, Run calls rest, on the same goroutine and thread. rest may take any time. Run
// does nothing if *returned is true. It does not stop a panic.
//
// Run must be deferred directly, otherwise it does not see the panic.
func Run(returned *bool, rest func()) {
	if *returned {
		return
	}
	if v := recover(); v != nil {
		panic(v)
	}
	rest()
}
