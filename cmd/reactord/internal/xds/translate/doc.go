// Package translate makes listeners, backends and servers of the resources of a control plane.
//
// # How to use it
//
// [DecodeListener], [DecodeCluster], [DecodeEndpoints] and [DecodeSecret] judge a resource alone. The error says by
// name what cannot be honoured, and why; then the resource is to be refused. [Build] makes the part of a plan of all
// that was accepted and is warm. What turns out to be wrong between resources is a [Fault] of one of them, which is not
// in the part.
//
// # What it guarantees
//
// A resource is as strict as a configuration file: what it says is honoured, or documented as a difference, or refused.
// Fields that the subset of the schema does not have are refused, and so are messages of other types. What [Build]
// returns is valid: the plan's merge accepts it, as far as it does not collide with the file.
//
// Everything here is a function of its arguments: there is no input or output, no clock and no goroutine, and nothing
// is changed after it was returned. A resource may be used from any goroutine.
//
// # Files
//
//	translate.go  the resources, Set, Build and Fault
package translate
