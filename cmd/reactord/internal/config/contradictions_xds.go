package config

// xds checks that the settings of a control plane agree.
func (v *validator) xds(at *step, x *XDS) {
	tls := at.of("tls")
	if x.TLS.Key != "" && x.TLS.Cert == "" {
		v.add(tls.of("key"), "key requires cert: write it, too")
	}
	if x.Reconnect.Max < x.Reconnect.Min {
		v.value(at.of("reconnect").of("max"), "%s is less than min, %s: write at least that",
			formatDuration(x.Reconnect.Max), formatDuration(x.Reconnect.Min)).Other = at.of("reconnect").of("min").String()
	}
	seen := seen{}
	for i := range x.Metadata {
		m, at := &x.Metadata[i], at.of("metadata").nth(i)
		v.unique(at.of("name"), m.Name, seen)
		if m.Value == "" && m.File == "" {
			v.add(at.of("value"), "no value: write value or file")
		}
	}
}
