package program

import "github.com/reactord/reactord/internal/simring"

// All are the programs by name.
var All = map[string]simring.Program{
	"datagrams":   Datagrams,
	"dials":       Dials,
	"descriptors": Descriptors,
	"drain":       Drain,
	"echo":        Echo,
	"events":      Events,
	"files":       Files,
	"goexits":     Goexits,
	"loops":       Loops,
	"queues":      Queues,
	"scopes":      Scopes,
	"tasks":       Tasks,
	"timers":      Timers,
	"unixgrams":   Unixgrams,
}
