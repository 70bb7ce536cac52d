package kubernetes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// podSecurity is what a namespace of the level "restricted" has against the pods.
func podSecurity(t *testing.T, template *corev1.PodTemplateSpec) (refused []string) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, r := range evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec) {
		if !r.Allowed {
			refused = append(refused, r.ForbiddenReason+": "+r.ForbiddenDetail)
		}
	}
	return refused
}
