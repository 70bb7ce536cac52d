package upgrade

// Succeeds reports whether a predecessor waits for this process to serve.
func (g *Given) Succeeds() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.predecessor != nil
}
