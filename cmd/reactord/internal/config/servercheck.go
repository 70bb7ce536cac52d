package config

// ServerCheck overrides the health check of a server's backend, which must have an interval. Send, SendHex, Expect,
// ExpectHex and Steps together replace those of the backend, if any of them is set.
type ServerCheck struct {
	// Disabled turns the check off for this server, which counts as up then. Default: false.
	Disabled bool
	// Port is the port to check. 0 (default): that of the backend's check, or else the server's.
	Port int
	// Send is the text to send once connected: see [Check.Send].
	Send string
	// SendHex is the same in hexadecimal digits. Set only one of the two.
	SendHex string
	// Expect is the text that the answer must contain: see [Check.Expect].
	Expect string
	// ExpectHex is the same in hexadecimal digits.
	ExpectHex string
	// Steps lists several exchanges: see [Check.Steps].
	Steps []CheckStep
}

// ServerAgent overrides the agent check of a server's backend.
type ServerAgent struct {
	// Disabled turns the agent check off for this server. Default: false.
	Disabled bool
	// Port is the port of the agent at the server's address. 0 (default): that of the backend's agent.
	Port int
}

// IsZero reports whether c overrides nothing.
func (c *ServerCheck) IsZero() bool { return !c.Disabled && c.Port == 0 && !c.speaks() }

// speaks reports whether c replaces what is sent and expected.
func (c *ServerCheck) speaks() bool {
	return c.Send != "" || c.SendHex != "" || c.Expect != "" || c.ExpectHex != "" || len(c.Steps) > 0
}

// Apply overrides settings of a check.
func (c *ServerCheck) Apply(to *Check) {
	if c.Disabled {
		to.Interval = 0
	}
	if c.Port != 0 {
		to.Port = c.Port
	}
	if c.speaks() {
		to.Send, to.SendHex, to.Expect, to.ExpectHex, to.Steps = c.Send, c.SendHex, c.Expect, c.ExpectHex, c.Steps
	}
}

// Apply overrides settings of an agent check.
func (a *ServerAgent) Apply(to *Agent) {
	if a.Port != 0 {
		to.Port = a.Port
	}
	if a.Disabled {
		to.Port = 0
	}
}

// serverChecks finds contradictions in the checks of a backend's servers.
func (v *validator) serverChecks(at *step, b *Backend) {
	for i := range b.Servers {
		s, at := &b.Servers[i], at.nth(i)
		v.serverCheck(at.of("check"), &s.Check, b)
		unix := s.Address.Path != ""
		if s.Check.Port != 0 && unix {
			v.add(at.of("check").of("port"), "port does not fit a unix socket: remove it")
		}
		agent := at.of("agent")
		switch {
		case s.Agent.Port != 0 && unix:
			v.add(agent.of("port"), "port does not fit a unix socket: remove it")
		case s.Agent.Port != 0 && s.Agent.Disabled:
			v.add(agent.of("port"), "port has no effect with disabled: remove one of them")
		case s.Agent.Disabled && b.Agent.Port == 0:
			v.add(agent.of("disabled"), "disabled has no effect: the backend has no agent")
		}
	}
}

func (v *validator) serverCheck(at *step, c *ServerCheck, b *Backend) {
	if c.IsZero() {
		return
	}
	if b.Check.Interval == 0 {
		v.add(at, "check has no effect: the backend has none: write check: {interval: 5s} below the backend")
		return
	}
	if c.Disabled && (c.Port != 0 || c.speaks()) {
		v.add(at.of("disabled"), "disabled and other settings are both set: remove one of them")
		return
	}
	if !c.speaks() {
		return
	}
	own := Check{
		Protocol: b.Check.Protocol, Steps: c.Steps,
		Send: c.Send, SendHex: c.SendHex, Expect: c.Expect, ExpectHex: c.ExpectHex,
	}
	v.exchange(at, &CheckStep{c.Send, c.SendHex, c.Expect, c.ExpectHex})
	v.checkSteps(at.of("steps"), &own)
	v.checkProtocol(at, &own)
}
