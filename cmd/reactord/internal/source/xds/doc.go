// Package xds applies a control plane's configuration, received over delta xDS, to the plan. The control plane is one
// more source of the plan, next to the file.
//
// # How to use it
//
// [New] returns a [Client]. [Client.Restore] restores what the previous process had accepted, and [Client.Start]
// connects. [Config.Apply] is called with what to put in force. [Client.Status] and [Client.Resources] report the
// state of each resource.
//
// # What it guarantees
//
// Each resource is judged alone: one that cannot be honoured is refused by name, with the reason, and its previous
// version stays in force. An ACK is sent when what was accepted is in force, or waits only for other resources. A
// panic in the code that reads resources counts as a refusal.
//
// A cluster comes into force when its endpoints and secrets have arrived, and a listener after its clusters and
// secrets; until then, its predecessor stays. The order in which resources arrive makes no difference. A resource
// that never warms blocks nothing else. A new resource whose endpoints or clusters have not arrived within
// initial_fetch_timeout comes up without them; it never replaces one that works. An active listener keeps its address
// as long as the control plane assigns it, whichever other listener claims the address.
//
// A removed cluster stays in force as long as an active listener refers to it. Clusters without a listener are kept,
// as in Envoy, but do not become backends, so that they cost no checks. Endpoints and secrets stay as long as
// something needs them, even if the control plane removes them.
//
// Unchanged content is no change, whatever its version. Pushes are gathered for a moment. A push that would remove
// all listeners, clusters or servers, or more than a percentage of them, is held back for a while: resources that
// return meanwhile are never removed. Removed ones drain.
//
// Configuration outlives the control plane; the last-good file preserves it across restarts.
//
// # Threads
//
// A [Client] has one goroutine that decides and applies, and three for the transport. While a plan is applied, only
// one further response is read. Its methods may be called from any goroutine.
//
// # Files
//
//	client.go     Client and its goroutine
//	session.go    a stream
//	settings.go   the configuration
//	decoder.go    what a resource means: package translate behind a small interface
//	resource.go   a resource and its state
//	resources.go  which contents to put in force: warming, holding back
//	apply.go      puts them in force, leaves out conflicts, answers
//	lastgood.go   the last-good file
//	status.go     status readings
package xds
