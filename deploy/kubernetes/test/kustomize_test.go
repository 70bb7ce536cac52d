package kubernetes

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// objects are what a kustomization renders, by kind.
type objects map[string]runtime.Object

// render renders a kustomization, and decodes what it makes. A field that the type does not have, or that is there
// twice, is an error.
func render(t *testing.T, dir string) objects {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
		rbacv1.AddToScheme, monitoringv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	found := objects{}
	for _, r := range resources(t, dir) {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		object, kind, err := decoder.Decode(text, nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if found[kind.Kind] != nil {
			t.Errorf("there are two of kind %s", kind.Kind)
		}
		found[kind.Kind] = object
	}
	return found
}

// resources are what a kustomization renders.
func resources(t *testing.T, dir string) []*resource.Resource {
	t.Helper()
	if !filepath.IsAbs(dir) {
		dir = filepath.Join("..", dir)
	}
	kustomizer := krusty.MakeKustomizer(krusty.MakeDefaultOptions())
	rendered, err := kustomizer.Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return rendered.Resources()
}

// kinds are the kinds of the objects.
func (o objects) kinds() []string {
	var kinds []string
	for kind := range o {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// template is that of the Deployment or the DaemonSet, and what selects its pods.
func (o objects) template(t *testing.T) (*corev1.PodTemplateSpec, map[string]string) {
	t.Helper()
	switch {
	case o["Deployment"] != nil:
		d := o["Deployment"].(*appsv1.Deployment)
		return &d.Spec.Template, d.Spec.Selector.MatchLabels
	case o["DaemonSet"] != nil:
		d := o["DaemonSet"].(*appsv1.DaemonSet)
		return &d.Spec.Template, d.Spec.Selector.MatchLabels
	}
	t.Fatal("nothing has pods")
	return nil, nil
}

// TestKustomizations renders all of them.
func TestKustomizations(t *testing.T) {
	for _, test := range []struct {
		dir, kinds string
		restricted bool // by the Pod Security Standards
	}{
		{"base", "ConfigMap Deployment PodDisruptionBudget Service ServiceAccount", true},
		{"overlays/daemonset", "ConfigMap DaemonSet Service ServiceAccount", false},
		{"overlays/endpointslices", "ConfigMap Deployment PodDisruptionBudget Role RoleBinding Service ServiceAccount", true},
		{"overlays/io-uring", "ConfigMap Deployment PodDisruptionBudget Service ServiceAccount", true},
		{"overlays/podmonitor", "ConfigMap Deployment PodDisruptionBudget PodMonitor Service ServiceAccount", true},
	} {
		t.Run(test.dir, func(t *testing.T) {
			o := render(t, test.dir)
			if got := strings.Join(o.kinds(), " "); got != test.kinds {
				t.Errorf("it renders %s, want %s", got, test.kinds)
			}
			o.checkReferences(t)
			template, _ := o.template(t)
			if refused := podSecurity(t, template); (len(refused) == 0) != test.restricted {
				t.Errorf("restricted is %v, refused: %q", test.restricted, refused)
			}
		})
	}
}

// TestEveryOverlayIsTested finds an overlay that the table above does not have.
func TestEveryOverlayIsTested(t *testing.T) {
	found, err := filepath.Glob("../overlays/*")
	if err != nil || len(found) != 4 {
		t.Errorf("%q, %v", found, err)
	}
}

// TestComponentsCombine renders all components together, in both orders.
func TestComponentsCombine(t *testing.T) {
	components, err := filepath.Glob("../components/*")
	if err != nil || len(components) < 4 {
		t.Fatalf("%q, %v", components, err)
	}
	for range 2 {
		o := render(t, combined(t, components))
		const want = "ConfigMap DaemonSet NetworkPolicy PodMonitor Role RoleBinding Service ServiceAccount"
		if got := strings.Join(o.kinds(), " "); got != want {
			t.Errorf("%q render %s", components, got)
		}
		o.checkReferences(t)
		template, _ := o.template(t)
		pod := template.Spec
		if pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeLocalhost {
			t.Errorf("%q: the profile is %v", components, pod.SecurityContext.SeccompProfile)
		}
		if env := pod.Containers[0].Env; !pod.HostNetwork || env[1].Name != "REACTORD_METRICS" {
			t.Errorf("%q: metrics are on all addresses of the node: %v", components, env)
		}
		slices.Reverse(components)
	}
}

// overlay writes a kustomization beside copies of base and components, and returns its directory.
func overlay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("..")); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "mine")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// combined returns the directory of a kustomization with these components.
func combined(t *testing.T, components []string) string {
	t.Helper()
	text := "resources: [../base]\ncomponents:\n"
	for _, c := range components {
		text += "  - " + c + "\n"
	}
	return overlay(t, map[string]string{"kustomization.yaml": text})
}

// checkReferences checks that what the objects say about each other is there.
func (o objects) checkReferences(t *testing.T) {
	t.Helper()
	template, selector := o.template(t)
	pod := template.Spec
	has := labels.Set(template.Labels)
	ports := map[string]bool{}
	for _, p := range pod.Containers[0].Ports {
		ports[p.Name] = true
	}
	for what, wanted := range map[string]map[string]string{
		"Deployment or DaemonSet": selector, "Service": o["Service"].(*corev1.Service).Spec.Selector,
	} {
		if len(wanted) == 0 || !labels.SelectorFromSet(wanted).Matches(has) {
			t.Errorf("%s selects %v, and pods have %v", what, wanted, has)
		}
	}
	for _, p := range o["Service"].(*corev1.Service).Spec.Ports {
		if !ports[p.TargetPort.String()] {
			t.Errorf("the Service leads to port %s", p.TargetPort.String())
		}
	}
	if b, ok := o["PodDisruptionBudget"].(*policyv1.PodDisruptionBudget); ok && !selects(t, b.Spec.Selector, has) {
		t.Errorf("the PodDisruptionBudget selects %v", b.Spec.Selector)
	}
	if p, ok := o["NetworkPolicy"].(*networkingv1.NetworkPolicy); ok {
		if !selects(t, &p.Spec.PodSelector, has) {
			t.Errorf("the NetworkPolicy selects %v", p.Spec.PodSelector)
		}
		for _, rule := range p.Spec.Ingress {
			if len(rule.Ports) != 1 || !ports[rule.Ports[0].Port.String()] {
				t.Errorf("the NetworkPolicy allows %v", rule.Ports)
			}
		}
	}
	if m, ok := o["PodMonitor"].(*monitoringv1.PodMonitor); ok {
		if !selects(t, &m.Spec.Selector, has) || !ports[*m.Spec.PodMetricsEndpoints[0].Port] {
			t.Errorf("the PodMonitor selects %v", m.Spec)
		}
		if has[m.Spec.JobLabel] != "reactord" {
			t.Errorf("the job is %q", has[m.Spec.JobLabel])
		}
	}
	if name := o["ServiceAccount"].(*corev1.ServiceAccount).Name; pod.ServiceAccountName != name {
		t.Errorf("pods have the account %q, want %q", pod.ServiceAccountName, name)
	}
	for _, v := range pod.Volumes {
		if v.ConfigMap != nil && v.ConfigMap.Name != o["ConfigMap"].(*corev1.ConfigMap).Name {
			t.Errorf("a volume of %q", v.ConfigMap.Name)
		}
	}
}

// TestRole checks who may do what, in the namespace of an overlay: the pods have a token, and may read EndpointSlices.
func TestRole(t *testing.T) {
	o := render(t, overlay(t, map[string]string{"kustomization.yaml": "namespace: edge\nresources: [../base]\n" +
		"components: [../components/endpointslices]\n"}))
	role, binding := o["Role"].(*rbacv1.Role), o["RoleBinding"].(*rbacv1.RoleBinding)
	account := o["ServiceAccount"].(*corev1.ServiceAccount)
	want := []rbacv1.PolicyRule{{
		APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"},
	}}
	if !reflect.DeepEqual(role.Rules, want) || role.Namespace != "edge" || binding.Namespace != "edge" {
		t.Errorf("%+v in %q, %q", role.Rules, role.Namespace, binding.Namespace)
	}
	subject := rbacv1.Subject{Kind: "ServiceAccount", Name: account.Name, Namespace: "edge"}
	if binding.RoleRef.Name != role.Name || len(binding.Subjects) != 1 || binding.Subjects[0] != subject {
		t.Errorf("%+v for %+v", binding.RoleRef, binding.Subjects)
	}
	if template, _ := o.template(t); !*template.Spec.AutomountServiceAccountToken {
		t.Error("the pods have no token")
	}
}

// selects reports whether a selector selects pods with these labels. None selects no pods.
func selects(t *testing.T, selector *metav1.LabelSelector, has labels.Set) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return !s.Empty() && s.Matches(has)
}
