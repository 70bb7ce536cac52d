package program

import "github.com/reactord/reactord/internal/simring"

// All are the programs by name.
var All = map[string]simring.Program{"echo": Echo, "timers": Timers}
