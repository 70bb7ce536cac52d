// Package kubernetes tests the files of deploy/kubernetes: kustomize renders them, and the API's own types decode them.
// It has no code that is used.
package kubernetes
