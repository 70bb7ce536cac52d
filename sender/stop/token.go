package stop

// Token tells whether stop was requested at its Source. The zero Token never stops. Tokens are
// comparable: equal ones are of the same source.
type Token struct{ src *Source }

// StopRequested tells whether stop has been requested. It costs one load.
func (t Token) StopRequested() bool { return t.src != nil && t.src.StopRequested() }

// StopPossible tells whether stop has been or may yet be requested: whether the token has a source.
func (t Token) StopPossible() bool { return t.src != nil }
