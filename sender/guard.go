package sender

// guard is a Group of two: a child whose result counts, and a trigger that can ask it to stop. It is
// what StopWhen and Timeout have in common; they differ in their trigger's receiver.
type guard[T any] struct {
	group  Group
	r      Receiver[T]
	result result[T] // the child's
	cause  error     // what the result is instead of stopped, if not nil
}

// begin is Group.Begin.
func (g *guard[T]) begin() bool {
	g.cause = nil
	return g.group.Begin(g, g.r.Env(), 2)
}

func (g *guard[T]) Finish() {
	x := g.result
	g.result = result[T]{}
	if x.channel == onStopped && g.cause != nil {
		x = errorOf[T](g.cause)
	}
	x.deliver(g.r)
}

// arrive is how either of the two ends: the other is not needed any more.
func (g *guard[T]) arrive() { g.group.stopThen(g.group.Leave) }

// guardChild is the child's receiver.
type guardChild[T any] guard[T]

func (c *guardChild[T]) complete(x result[T]) {
	c.result = x
	(*guard[T])(c).arrive()
}

func (c *guardChild[T]) SetValue(v T)       { c.complete(valueOf(v)) }
func (c *guardChild[T]) SetError(err error) { c.complete(failureOf[T](&c.group, err)) }
func (c *guardChild[T]) SetStopped()        { c.complete(result[T]{}) }
func (c *guardChild[T]) Env() Env           { return &c.group }
