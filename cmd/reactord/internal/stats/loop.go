package stats

// Loop is a reading of what listeners do on one loop.
type Loop struct {
	Name        string
	Connections int64  // open ones, and sessions of UDP
	Accepted    uint64 // connections and sessions so far
	Local       uint64 // accepted connections that the CPU of the loop had received, while that is looked at
}
