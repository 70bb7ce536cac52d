package stop

// Token says whether stop has been requested at its [Source]. The zero Token never stops. Tokens are comparable: equal
// tokens have the same source.
type Token struct{ src *Source }

// StopRequested reports whether stop has been requested. It costs one load.
func (t Token) StopRequested() bool { return t.src != nil && t.src.StopRequested() }

// StopPossible reports whether stop has been requested or may be: whether the token has a source.
func (t Token) StopPossible() bool { return t.src != nil }
