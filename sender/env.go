package sender

import "github.com/reactord/reactord/sender/stop"

// Env is what a receiver tells the operations below it. Every adaptor forwards it, but for what the
// adaptor itself provides.
//
// Source: P2300 [exec.queryable], P3552R3 §4.
type Env interface {
	// StopToken tells whether the result is still wanted. The zero Token: always.
	StopToken() stop.Token
	// Scheduler is where the receiver would like work to be, or nil if it does not care.
	Scheduler() Scheduler
	// Value answers an open query, or returns nil. Keys are compared as those of context.Context.
	Value(key any) any
}

// EmptyEnv answers no query: it never stops and has no scheduler.
type EmptyEnv struct{}

// StopToken is the token that never stops.
func (EmptyEnv) StopToken() stop.Token { return stop.Token{} }

// Scheduler is nil.
func (EmptyEnv) Scheduler() Scheduler { return nil }

// Value is nil.
func (EmptyEnv) Value(any) any { return nil }
