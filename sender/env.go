package sender

import "github.com/reactord/reactord/sender/stop"

// Env is the environment that a receiver gives to the operations below it. Every adaptor forwards it, except for the
// queries that the adaptor itself answers.
//
// Source: P2300R10 [exec.queryable], P3552R3 §4.
type Env interface {
	// StopToken returns the token that reports whether the operation is requested to stop. The zero Token never stops.
	StopToken() stop.Token
	// Scheduler returns where the receiver wants work to run; nil: anywhere.
	Scheduler() Scheduler
	// Value returns the answer to the query key, or nil. Keys are compared as context.Context compares them.
	Value(key any) any
}

// EmptyEnv is an environment that answers no query: it never stops and has no scheduler.
type EmptyEnv struct{}

// StopToken returns the token that never stops.
func (EmptyEnv) StopToken() stop.Token { return stop.Token{} }

// Scheduler returns nil.
func (EmptyEnv) Scheduler() Scheduler { return nil }

// Value returns nil.
func (EmptyEnv) Value(any) any { return nil }
