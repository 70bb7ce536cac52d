package seq

import "github.com/reactord/reactord/sender"

// tap is an operation with one source, which it stops when it has had enough. It sees to all but the
// items.
type tap struct {
	group   sender.Group
	outcome outcome
	enough  bool // the outcome is settled, and the source is being stopped
}

// begin is sender.Group.Begin.
func (p *tap) begin(op sender.Joiner, env sender.Env) bool {
	p.outcome, p.enough = outcome{end: stopped}, false
	return p.group.Begin(op, env, 1)
}

// end settles the outcome and stops the source. It is called inside SetNext.
func (p *tap) end(x outcome) {
	p.outcome, p.enough = x, true
	p.group.RequestStop()
}

// fail ends it with an error.
func (p *tap) fail(err error) { p.end(outcome{failed, err}) }

// left says that the source has completed.
func (p *tap) left(x outcome) {
	if !p.enough {
		p.outcome = x
	}
	p.group.Leave()
}

// SetValue and the others make it the source's receiver, but for the items.
func (p *tap) SetValue(struct{})  { p.left(outcome{}) }
func (p *tap) SetError(err error) { p.left(outcome{failed, err}) }
func (p *tap) SetStopped()        { p.left(outcome{end: stopped}) }
func (p *tap) Env() sender.Env    { return &p.group }
