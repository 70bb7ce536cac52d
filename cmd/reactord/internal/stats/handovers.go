package stats

// Handovers is a reading of the connections that have moved between processes.
type Handovers struct {
	Moved   uint64  // that other processes have taken from this one
	Taken   uint64  // that this process has taken from others
	Staying []Count // that are to move and have not, by the reason
}
