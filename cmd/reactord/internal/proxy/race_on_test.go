//go:build race

package proxy

// underRace reports whether the race detector is on. In a simulation one thread runs at a time: it finds nothing there.
const underRace = true
