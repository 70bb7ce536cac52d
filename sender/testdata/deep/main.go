// Deep is a tree of senders 24 levels deep, of all adaptors: TestDeepTree holds how large it is.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/reactord/reactord/sender"
	"github.com/reactord/reactord/sender/sched"
)

func main() {
	in, late := sched.Inline{}, sender.JustStopped[struct{}]()
	s0 := sender.Just(len(os.Args))
	s1 := sender.Then(s0, func(n int) int { return n + 1 })
	s2 := sender.Let(s1, func(n int) sender.JustSender[int] { return sender.Just(n) })
	s3 := sender.UponError(s2, func(error) int { return 1 })
	s4 := sender.Timeout(s3, late)
	s5 := sender.Retry(s4, func(failed int, _ error) bool { return failed < 2 })
	s6 := sender.Finally(s5, sender.Just(1))
	s7 := sender.Then(sender.WhenAll(s6, sender.Just(1)), func(x sender.All2[int, int]) int { return x.A })
	s8 := sender.StopWhen(s7, late)
	s9 := sender.StartsOn(in, s8)
	s10 := sender.Sequence(s9, sender.Just(3))
	s11 := sender.ContinuesOn(s10, in)
	s12 := sender.Fallback(s11, sender.Just(3))
	s13 := sender.RepeatUntil(s12, func(int) bool { return true })
	s14 := sender.LetError(s13, sender.JustError[int])
	s15 := sender.WriteEnv(s14, sender.EmptyEnv{})
	s16 := sender.AffineOn(s15, in)
	s17 := sender.Bulk(s16, 2, func(int, int) {})
	s18 := sender.WhenAny(s17, sender.Just(9))
	s19 := sender.Then(sender.IntoResult(s18), func(r sender.Result[int]) int { return r.Value })
	s20 := sender.Unstoppable(s19)
	s21 := sender.Sequence(sender.Just(3), s20)
	s22 := sender.LetStopped(s21, func() sender.JustSender[int] { return sender.Just(1) })
	s23 := sender.Then(sender.IntoOptional(s22), func(r sender.Optional[int]) int { return r.Value })
	s24 := sender.UponStopped(s23, func() int { return 3 })
	fmt.Println(sender.SyncWait(context.Background(), s24))
}
