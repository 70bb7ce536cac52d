package xds

import (
	"fmt"
	"slices"
	"time"

	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/ads"
	"github.com/reactord/reactord/cmd/reactord/internal/source/xds/translate"
)

// resources holds all resources, and decides which of them are in force. It has no clock and no goroutine.
type resources struct {
	decoder guarded
	rules   rules
	all     [kinds]map[string]*resource
	until   [kinds]time.Time // end of holding removals back; zero if none are
}

// rules are the settings of that decision.
type rules struct {
	holdBack time.Duration // 0 disables holding back
	percent  int           // share of what would be lost
	patience time.Duration // wait for requested resources; 0 for no limit
}

func newResources(l decoder, r rules) *resources {
	b := &resources{decoder: guarded{l}, rules: r}
	for k := range b.all {
		b.all[k] = map[string]*resource{}
	}
	return b
}

// get returns the resource of a name, and creates it if needed.
func (b *resources) get(k kind, name string) *resource {
	r := b.all[k][name]
	if r == nil {
		r = &resource{kind: k, name: name}
		b.all[k][name] = r
	}
	return r
}

// take stores an update of the control plane, and reports whether it changes anything.
func (b *resources) take(u *ads.Update, now time.Time) (news bool) {
	k, ok := kindOf(u.Type)
	if !ok {
		return false
	}
	for i := range u.Set {
		s := &u.Set[i]
		r := b.get(k, s.Name)
		got, refused := r.got, r.err
		v, err := b.decoder.decode(k, s.Name, s.Body)
		r.receive(v, s.Version, s.Body, err, now)
		news = news || r.got != got || (refused == nil) != (err == nil)
	}
	if k == endpoints {
		b.retryWithEndpoints()
	}
	for name, err := range u.Refused {
		room := name != "" && len(name) <= ads.MaxName && len(b.all[k]) < ads.DefaultMaxResources
		if r := b.all[k][name]; r != nil || room {
			b.get(k, name).receive(nil, "", nil, err, now)
		}
	}
	for _, name := range u.Removed {
		if r := b.all[k][name]; r != nil {
			r.remove(now)
			news = true
		} else if k < clusters {
			b.get(k, name).remove(now)
			news = true
		}
	}
	return news
}

// refused returns the resources to name in the answer to an update.
func (b *resources) refused(u *ads.Update) map[string]error {
	k, ok := kindOf(u.Type)
	if !ok {
		return nil
	}
	all := map[string]error{}
	for i := range u.Set {
		r := b.all[k][u.Set[i].Name]
		switch {
		case r == nil:
		case r.err != nil:
			all[r.name] = r.err
		case r.got != nil && r.got.fault != nil:
			all[r.name] = r.got.fault
		}
	}
	return all
}

// wanted returns the names of a kind that received or active resources need.
func (b *resources) wanted(k kind) []string {
	var all []string
	for _, by := range []kind{clusters, listeners} {
		for _, r := range b.all[by] {
			for _, c := range []*content{r.got, r.used} {
				if c != nil {
					all = append(all, c.value.needs(k)...)
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// choice is the contents to put in force.
type choice [kinds]map[string]*content

// choose decides what to put in force, and returns when to choose again; zero means not before something else
// happens.
func (b *resources) choose(now time.Time) (chosen choice, again time.Time) {
	ch := chooser{resources: b, now: now}
	for k := range ch.chosen {
		ch.chosen[k] = map[string]*content{}
		ch.held[k] = ch.holds(kind(k)) //nolint:gosec // there are four
	}
	for _, k := range []kind{secrets, endpoints} {
		for name, r := range b.all[k] {
			ch.leaf(name, r)
		}
	}
	for _, k := range []kind{clusters, listeners} {
		for name, r := range b.all[k] {
			ch.warm(name, r)
		}
	}
	ch.prune()
	return ch.chosen, ch.again
}

// chooser is a choice in progress.
type chooser struct {
	*resources
	now    time.Time
	chosen choice
	held   [kinds]bool // whether removals of this kind are held back
	again  time.Time
}

func (c *chooser) wake(at time.Time) {
	if c.again.IsZero() || at.Before(c.again) {
		c.again = at
	}
}

// holds reports whether so much of a kind would be lost that it is held back for now.
func (c *chooser) holds(k kind) bool {
	total, lost := 0, 0
	for _, r := range c.all[k] {
		t, l := r.loss()
		total, lost = total+t, lost+l
	}
	if c.rules.holdBack == 0 || lost == 0 || lost*100 < c.rules.percent*total {
		c.until[k] = time.Time{}
		return false
	}
	if c.until[k].IsZero() {
		c.until[k] = c.now.Add(c.rules.holdBack)
	}
	if !c.now.Before(c.until[k]) {
		return false
	}
	c.wake(c.until[k])
	return true
}

// loss returns how much of a resource is in force, and how much of that its last content would remove: the servers of
// endpoints, or the resource itself.
func (r *resource) loss() (total, lost int) {
	switch {
	case r.used == nil || r.kind == secrets:
		return 0, 0
	case r.kind == endpoints:
		if total = r.used.value.size(); r.got != nil {
			lost = max(total-r.got.value.size(), 0)
		}
		return total, lost
	case r.got == nil:
		return 1, 1
	default:
		return 1, 0
	}
}

// leaf chooses the content of a resource that depends on no others.
func (c *chooser) leaf(name string, r *resource) {
	options := r.options()
	if r.held = false; len(options) == 0 {
		return
	}
	if _, lost := r.loss(); lost > 0 && c.held[r.kind] && r.used.fault == nil {
		r.held, options[0] = true, r.used
	}
	c.chosen[r.kind][name] = options[0]
}

// warm chooses the content of a resource whose dependencies are met.
func (c *chooser) warm(name string, r *resource) {
	r.lacks = ""
	if r.got == nil && r.kind == listeners && !c.held[listeners] {
		return // removed clusters are pruned once nothing refers to them
	}
	for _, one := range r.options() {
		lacks := c.lacks(r, one)
		if lacks == "" {
			c.chosen[r.kind][name] = one
			return
		}
		if one == r.got {
			r.lacks = lacks
		}
	}
}

// lacks returns what a content waits for, or "".
func (c *chooser) lacks(r *resource, of *content) string {
	late := c.late(r, of)
	for _, k := range []kind{secrets, endpoints, clusters} {
		for _, name := range of.value.needs(k) {
			switch need := c.all[k][name]; {
			case c.chosen[k][name] != nil:
			case of == r.used && k != clusters: // already in force without it
			case k != secrets && late:
			case k == endpoints && need != nil && need.absent:
			case k == clusters && need != nil && need.lacks != "":
				return fmt.Sprintf("cluster %q is warming: %s", name, need.lacks)
			case need != nil && need.err != nil:
				return fmt.Sprintf("%s %q was refused", k, name)
			default:
				return fmt.Sprintf("%s %q has not arrived", k, name)
			}
		}
	}
	return ""
}

// late reports whether a content has waited so long that it comes up, or stays, without what is missing. It does not
// replace a predecessor so.
func (c *chooser) late(r *resource, of *content) bool {
	if c.rules.patience == 0 || r.used != nil && r.used != of {
		return false
	}
	at := of.at.Add(c.rules.patience)
	if c.now.Before(at) {
		c.wake(at)
		return false
	}
	return true
}

// prune leaves out removed clusters that no listener needs.
func (c *chooser) prune() {
	if c.held[clusters] {
		return
	}
	needed := map[string]bool{}
	for _, l := range c.chosen[listeners] {
		for _, name := range l.value.needs(clusters) {
			needed[name] = true
		}
	}
	for name, r := range c.all[clusters] {
		if r.got == nil && !needed[name] {
			delete(c.chosen[clusters], name)
		}
	}
}

// set returns the values of a choice, with the claims of its listeners: what is in force keeps its address.
func (b *resources) set(ch *choice) *set {
	s := &set{claim: make(map[string]claim, len(ch[listeners]))}
	for k := range ch {
		s.of[k] = make(map[string]value, len(ch[k]))
		for name, c := range ch[k] {
			s.of[k][name] = c.value
		}
	}
	for name, c := range ch[listeners] {
		switch r := b.all[listeners][name]; {
		case r.got == nil:
			s.claim[name] = translate.Removed
		case r.used == c:
			s.claim[name] = translate.InForce
		case r.used != nil:
			s.claim[name] = translate.Changed
		default:
			s.claim[name] = translate.New
		}
	}
	return s
}

// inForce reports whether a choice is already in force.
func (b *resources) inForce(ch *choice) bool {
	for k := range b.all {
		for name, r := range b.all[k] {
			if r.used != ch[k][name] {
				return false
			}
		}
	}
	return true
}

// commit records that a choice is in force, and drops what nothing needs. left reports whether an active listener was
// replaced or removed, so that its address may be free for others.
func (b *resources) commit(ch *choice) (left bool) {
	for k := range b.all {
		for name, r := range b.all[k] {
			now := ch[k][name]
			left = left || kind(k) == listeners && r.used != nil && r.used != now //nolint:gosec // there are four
			r.used = now
		}
	}
	b.forget()
	return left
}

// forget drops resources that neither exist nor are wanted.
func (b *resources) forget() {
	for _, k := range []kind{secrets, endpoints} {
		wanted := b.wanted(k)
		for name := range b.all[k] {
			if _, ok := slices.BinarySearch(wanted, name); !ok {
				delete(b.all[k], name)
			}
		}
	}
	for _, k := range []kind{clusters, listeners} {
		for name, r := range b.all[k] {
			if r.got == nil && r.used == nil && r.err == nil {
				delete(b.all[k], name)
			}
		}
	}
}

// retry clears the marks of resources that conflicted with others, and reports whether there were any.
func (b *resources) retry() (something bool) {
	b.each(func(r *resource) {
		for _, c := range []*content{r.got, r.used} {
			if c != nil && c.fault != nil {
				c.fault, something = nil, true
			}
		}
	})
	return something
}

// retryWithEndpoints forgets the faults of clusters whose endpoints are not in force yet: they may have been late.
func (b *resources) retryWithEndpoints() {
	for _, r := range b.all[clusters] {
		if r.got == nil || r.got.fault == nil {
			continue
		}
		for _, name := range r.got.value.needs(endpoints) {
			if e := b.all[endpoints][name]; e != nil && e.got != nil && e.used == nil {
				r.got.fault = nil
			}
		}
	}
}

// each calls f for each resource.
func (b *resources) each(f func(*resource)) {
	for k := range b.all {
		for _, r := range b.all[k] {
			f(r)
		}
	}
}
