package program

import "github.com/reactord/reactord/internal/simring"

// All are the programs by name.
var All = map[string]simring.Program{
	"datagrams": Datagrams,
	"echo":      Echo,
	"events":    Events,
	"files":     Files,
	"goexits":   Goexits,
	"leaving":   Leaving,
	"loops":     Loops,
	"passing":   Passing,
	"scopes":    Scopes,
	"tasks":     Tasks,
	"timers":    Timers,
}
