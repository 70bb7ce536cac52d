module github.com/reactord/reactord/deploy/kubernetes/test

go 1.26.0

require (
	github.com/blang/semver/v4 v4.0.0 // indirect
	go.yaml.in/yaml/v2 v2.4.3 // indirect
	k8s.io/api v0.36.3 // indirect
	k8s.io/apimachinery v0.36.3 // indirect
	k8s.io/pod-security-admission v0.36.3 // indirect
	sigs.k8s.io/kustomize/api v0.21.1 // indirect
	sigs.k8s.io/kustomize/kyaml v0.21.1 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)
