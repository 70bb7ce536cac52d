package sender_test

import (
	"testing"

	"github.com/reactord/reactord/sender"
)

// immediate runs work inside Enqueue, and says so.
func (immediate) CompletionBehavior() sender.CompletionBehavior { return sender.Inline }

// affine is a sender that completes where it was started, and not inside Start.
type affine struct{ waiter }

func (affine) CompletionBehavior() sender.CompletionBehavior { return sender.Affine }

// An algorithm completes as the worst of its children does.
func TestCompletionIsComputed(t *testing.T) {
	inline, here, away := sender.Just(1), affine{}, waiter{}
	check(t, "Just", inline, sender.Inline)
	check(t, "JustError", sender.JustError[int](errLeaf), sender.Inline)
	check(t, "JustStopped", sender.JustStopped[int](), sender.Inline)
	check(t, "ReadEnv", sender.ReadEnv(sender.Env.Scheduler), sender.Inline)
	check(t, "FromFunc", sender.FromFunc(func() (int, error) { return 1, nil }), sender.Inline)
	check(t, "affine", here, sender.Affine)
	check(t, "silent", away, sender.Anywhere)
	for _, test := range []struct {
		of   sender.Any[int]
		want sender.CompletionBehavior
	}{{sender.Erase(inline), sender.Inline}, {sender.Erase(here), sender.Affine}, {sender.Erase(away), sender.Anywhere}} {
		s, want := test.of, test.want
		check(t, "Any", s, want)
		check(t, "Then", sender.Then(s, inc), want)
		check(t, "UponError", sender.UponError(s, func(error) int { return 1 }), want)
		check(t, "UponStopped", sender.UponStopped(s, func() int { return 1 }), want)
		check(t, "Let", sender.Let(s, sender.Just[int]), want)
		check(t, "LetError", sender.LetError(s, func(error) affine { return here }), min(want, sender.Affine))
		check(t, "LetStopped", sender.LetStopped(s, func() waiter { return away }), sender.Anywhere)
		check(t, "Sequence", sender.Sequence(inline, s), want)
		check(t, "Sequence, first", sender.Sequence(s, inline), want)
		check(t, "Fallback", sender.Fallback(s, inline), want)
		check(t, "Finally", sender.Finally(inline, s), want)
		check(t, "Repeat", sender.Repeat(s), want)
		check(t, "Retry", sender.Retry(s, func(int, error) bool { return true }), want)
		check(t, "WhenAll", sender.WhenAll(inline, s), want)
		check(t, "WhenAll, first", sender.WhenAll(s, here), min(want, sender.Affine))
		check(t, "WhenAny", sender.WhenAny(inline, s), want)
		check(t, "WhenAny, first", sender.WhenAny(s, here), min(want, sender.Affine))
		check(t, "StopWhen", sender.StopWhen(s, inline), want)
		check(t, "Timeout", sender.Timeout(s, sender.Just(unit{})), want)
		check(t, "WriteEnv", sender.WriteEnv(s, sender.EmptyEnv{}), want)
		check(t, "Unstoppable", sender.Unstoppable(s), want)
		check(t, "FromContext", sender.FromContext(t.Context(), s), want)
		check(t, "IntoOptional", sender.IntoOptional(s), want)
		check(t, "IntoResult", sender.IntoResult(s), want)
		check(t, "Bulk", sender.Bulk(s, 1, func(int, int) {}), want)
		check(t, "StartsOn, inline", sender.StartsOn(immediate{}, s), want)
		check(t, "StartsOn, away", sender.StartsOn(new(sender.RunLoop), s), sender.Anywhere)
		check(t, "ContinuesOn, inline", sender.ContinuesOn(s, immediate{}), want)
		check(t, "ContinuesOn, away", sender.ContinuesOn(s, new(sender.RunLoop)), sender.Anywhere)
		check(t, "AffineOn", sender.AffineOn(s, new(sender.RunLoop)), want)
	}
	check(t, "Schedule, inline", sender.Schedule(immediate{}), sender.Inline)
	check(t, "Schedule, away", sender.Schedule(new(sender.RunLoop)), sender.Anywhere)
	check(t, "Schedule, not known yet", sender.Let(inline,
		func(int) sender.ScheduleSender { return sender.Schedule(immediate{}) }), sender.Anywhere)
	check(t, "slices, all", sender.WhenAllSlice([]affine{}, 0), sender.Affine)
	check(t, "slices, any", sender.WhenAnySlice([]affine{}), sender.Affine)
	check(t, "slices, sequence", sender.SequenceSlice([]sender.Any[int]{sender.Erase(inline)}), sender.Anywhere)
	check(t, "Split", sender.Split(inline), sender.Anywhere)
}

func check[S any](t *testing.T, name string, s S, want sender.CompletionBehavior) {
	t.Helper()
	if got := sender.CompletionBehaviorOf(&s); got != want {
		t.Errorf("%s completes %v, want %v", name, got, want)
	}
}

// A sender whose type is too large for the common zero value.
type large struct {
	sender.JustSender[int]
	_ [1024]byte
}

func TestCompletionOfLargeTypes(t *testing.T) {
	check(t, "Let", sender.Let(sender.Just(1), func(int) large { return large{} }), sender.Inline)
}
